"""A folder as resources: what is taken, what is left out and why."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranktrail_cli import folder
from ranktrail_cli.folder import Skipped, list_folder, read_still
from tests.processes import short_directory

NOBODY = 65_534


def skipped(root: Path) -> dict[str, str]:
    return {skip.path: skip.reason for skip in list_folder(root).skips}


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def test_files_are_listed_by_posix_path_in_order_and_hidden_ones_are_ignored(tmp_path: Path) -> None:
    write(
        tmp_path, "b.md", "a/c.md", "a/b/d e.md", ".env", ".git/config", "a/.hidden/x", "CVS/Root", "_darcs/x", "é.md"
    )
    listing = list_folder(tmp_path)
    assert listing.paths == ["a/b/d e.md", "a/c.md", "b.md", "é.md"]
    assert listing.skips == []


def test_a_folder_that_is_hidden_itself_can_be_synced(tmp_path: Path) -> None:
    write(tmp_path / ".notes", "a.md")
    assert list_folder(tmp_path / ".notes").paths == ["a.md"]


def test_a_symlink_loop_is_named_and_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c.md")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "here").symlink_to(".")
    assert list_folder(tmp_path).paths == ["a/b/c.md"]
    assert skipped(tmp_path) == dict.fromkeys(("a/b/up", "self", "here"), "it is a symlink loop")


def test_links_that_leave_the_folder_are_named_links_inside_are_not_taken_twice_and_dead_ones_are_named(
    tmp_path: Path,
) -> None:
    root = tmp_path / "root"
    write(tmp_path, "outside/x.md", "root/a/y.md", "root-beside/z.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.md").symlink_to(tmp_path / "outside/x.md")
    (root / "hop.md").symlink_to("out.md")
    (root / "beside").symlink_to("../root-beside")
    (root / "up").symlink_to("..")
    (root / "gone.md").symlink_to("../gone.md")
    (root / "again").symlink_to("a")
    (root / "file.md").symlink_to("a/y.md")
    (root / "dead").symlink_to("nowhere")
    assert list_folder(root).paths == ["a/y.md", "file.md"]
    leaving = dict.fromkeys(("out", "out.md", "hop.md", "beside", "up", "gone.md"), "the link leaves the folder")
    assert skipped(root) == {
        **leaving,
        "again": "it links to a folder that is synced under its own name",
        "dead": "it links to nothing",
    }


def test_a_folder_that_is_named_by_a_link_holds_its_own_links(tmp_path: Path) -> None:
    write(tmp_path, "real/a.md")
    (tmp_path / "real/b.md").symlink_to(tmp_path / "real/a.md")
    (tmp_path / "link").symlink_to("real")
    assert list_folder(tmp_path / "link").paths == ["a.md", "b.md"]


def test_names_that_cannot_travel_are_named_with_escapes(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_text("x")
    (tmp_path / "back\\slash.md").write_text("x")
    write(tmp_path, "/".join(["d" * 200] * 3) + "/x.md")
    assert list_folder(tmp_path).paths == []
    reasons = skipped(tmp_path)
    assert reasons["caf\\xe9.md"] == "its name is not UTF-8"
    assert reasons["back\\slash.md"] == "its name has a backslash"
    assert "at most 512" in reasons["/".join(["d" * 200] * 3)]


def test_a_pipe_in_the_folder_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert skipped(tmp_path) == {"pipe.md": "it is neither a file nor a folder"}
    with pytest.raises(Skipped, match="neither a file"):
        read_still(tmp_path / "pipe.md")


def test_a_file_that_cannot_be_read_is_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "mem").symlink_to("/proc/self/mem")  # opens, and refuses to be read, whoever asks
    with pytest.raises(Skipped, match="cannot be read"):
        read_still(tmp_path / "mem")
    with pytest.raises(Skipped, match="cannot be read: no such file"):
        read_still(tmp_path / "gone.md")


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Lay root's rights down, which read everything, and let `folder` be nobody's meanwhile."""
    if os.geteuid() != 0:
        yield
        return
    os.chown(folder, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_cannot_be_read_is_skipped_and_its_neighbours_are_not() -> None:
    with short_directory() as root:
        write(root, "closed/a.md", "open/b.md")
        (root / "closed").chmod(0)
        (root / "open").chmod(0o755)
        with as_nobody(root):
            assert list_folder(root).paths == ["open/b.md"]
            assert skipped(root) == {"closed": "the folder cannot be read: permission denied"}
        (root / "closed").chmod(0o700)


def test_a_file_of_32_mebibytes_is_taken_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(32 << 20)
    assert len(read_still(path)) == 32 << 20
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(Skipped, match="more than 32 MiB"):
        read_still(path)


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    path.write_text("old")
    versions = iter([(1, 1, 1), (2, 2, 2), (3, 3, 3), (3, 3, 3)])
    monkeypatch.setattr(folder, "_version", lambda _: next(versions))
    assert read_still(path) == b"old"
    assert next(versions, None) is None


def test_bytes_of_two_versions_of_a_file_are_never_mixed(tmp_path: Path) -> None:
    path, stop = tmp_path / "a.md", threading.Event()
    texts = (b"a" * 50_000, b"b" * 60_000)
    path.write_bytes(texts[0])

    def rewrite() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            path.write_bytes(texts[turn % 2])
            stop.wait(0.001)

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        for _ in range(200):
            try:
                content = read_still(path)
            except Skipped as skip:
                assert "changes while it is read" in str(skip)  # noqa: PT017 - it may change, or not
            else:
                assert content in {*texts, b""}
    finally:
        stop.set()
        writer.join()

"""Exports on their way to disk: there wholly, or not at all."""

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.exported_set import check_place, write_file, write_folder

FILES = {"qrels.txt": b"q 0 d 1\n", "qrels/test.tsv": b"x" * 30_000, "empty": b""}


def a_tar(members: dict[str, bytes], *odd: tarfile.TarInfo) -> list[bytes]:
    """Return a tar in pieces that end anywhere."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, content in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))
        for header in odd:
            archive.addfile(header)
    whole = file.getvalue()
    return [whole[at : at + 777] for at in range(0, len(whole), 777)]


def odd(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header


def below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def broken(pieces: list[bytes]) -> Iterator[bytes]:
    yield from pieces[: len(pieces) // 2]
    raise ConnectionResetError("the service has gone")


def test_a_tar_becomes_a_private_folder_with_its_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert write_folder(out, a_tar(FILES)) == sum(map(len, FILES.values()))
    assert below(out) == FILES
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in FILES} == {0o600}
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208 - the names


@pytest.mark.parametrize(
    "member",
    [
        odd("../evil"),
        odd("/evil"),
        odd("a/../../evil"),
        odd("link", tarfile.SYMTYPE, "/etc/passwd"),
        odd("link", tarfile.SYMTYPE, "qrels.txt"),
        odd("hard", tarfile.LNKTYPE, "qrels.txt"),
        odd("pipe", tarfile.FIFOTYPE),
        odd("device", tarfile.CHRTYPE),
        odd("folder", tarfile.DIRTYPE),
    ],
    ids=lambda header: f"{header.name}-{header.type!r}",
)
def test_a_tar_with_anything_but_files_below_it_is_refused_and_leaves_nothing(
    tmp_path: Path, member: tarfile.TarInfo
) -> None:
    (tmp_path / "place").mkdir()
    with pytest.raises(CommandFailed) as caught:
        write_folder(tmp_path / "place" / "out", a_tar(FILES, member))
    assert caught.value.exit_code is Exit.INCOMPLETE
    assert below(tmp_path) == {}
    assert list((tmp_path / "place").iterdir()) == []


@pytest.mark.parametrize("pieces", [[], [b""], [b"no tar " * 500], a_tar(FILES)[:5]])
def test_what_is_no_whole_tar_is_refused_and_leaves_nothing(tmp_path: Path, pieces: list[bytes]) -> None:
    with pytest.raises(CommandFailed):
        write_folder(tmp_path / "out", pieces)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_breaks_leaves_what_was_there(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_bytes(b"old")
    write_folder(folder, a_tar({"qrels.txt": b"old"}))
    with pytest.raises(ConnectionResetError):
        write_file(file, broken([b"a", b"b"]))
    with pytest.raises(ConnectionResetError):
        write_folder(folder, broken(a_tar(FILES)))
    assert below(tmp_path) == {"file": b"old", "folder/qrels.txt": b"old"}


def test_a_folder_takes_the_place_of_an_earlier_export_and_of_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(out, a_tar(FILES))
    write_folder(out, a_tar({**FILES, "qrels.txt": b"new"}))
    assert below(out)["qrels.txt"] == b"new"
    (out / "thesis.tex").write_bytes(b"years of work")
    with pytest.raises(CommandFailed, match=r"thesis\.tex") as caught:
        write_folder(out, a_tar(FILES))
    assert caught.value.exit_code is Exit.REFUSED
    assert below(out)["thesis.tex"] == b"years of work"
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208 - the names


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", [b"x"])
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "real").read_bytes()) == (True, b"x")


@pytest.mark.parametrize(
    ("name", "is_folder", "force", "problem"),
    [
        ("file", False, False, "exists"),
        ("file", True, True, "is a file"),
        ("full", False, True, "is a folder"),
        ("full", True, False, "is not empty"),
        ("empty", False, False, "is a folder"),
        ("missing/x", False, False, "in no folder"),
        ("file/x", True, True, "in no folder"),
        ("dangling", False, False, ""),
        ("pipe", False, True, "no plain file"),
        ("file", False, True, ""),
        ("new", False, False, ""),
        ("new", True, False, ""),
        ("empty", True, False, ""),
        ("full", True, True, ""),
    ],
)
def test_what_is_there_is_replaced_only_when_forced_and_only_by_its_kind(
    tmp_path: Path, name: str, is_folder: bool, force: bool, problem: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full" / "x").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    if not problem:
        check_place(tmp_path / name, is_folder=is_folder, force=force)
        return
    with pytest.raises(CommandFailed, match=problem) as caught:
        check_place(tmp_path / name, is_folder=is_folder, force=force)
    assert caught.value.exit_code is Exit.REFUSED

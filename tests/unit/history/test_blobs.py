"""Bodies: whole at their address or not there, and never believed unseen."""

import os
import stat
from pathlib import Path

import pytest

from history_service.domain.errors import BlobCorrupt, BlobDigestMismatch, DirectoryUnfit, FieldInvalid, WriteFailed
from history_service.store import blobs as blobs_module
from history_service.store.blobs import BlobStore
from tests.history_builders import digest

BODY = b"# Deploying\r\n\r\nRun the pipeline.\x00\xff"
DIGEST = digest(BODY)


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def _put(store: BlobStore, body: bytes = BODY) -> None:
    batch = store.batch()
    batch.begin(digest(body))
    batch.write(body[:5])
    batch.write(body[5:])
    batch.end()
    batch.publish()


def test_a_stored_body_comes_back_byte_for_byte(store: BlobStore) -> None:
    _put(store)
    assert store.holds(DIGEST, len(BODY))
    assert store.read(DIGEST) == BODY
    assert store.address(DIGEST).parts[-2:] == (DIGEST[:2], DIGEST)


@pytest.mark.parametrize("content", [b"", BODY[:-1], BODY + b"x", b"x" + BODY[1:]])
def test_an_empty_torn_or_damaged_file_at_the_address_is_not_believed_and_is_rewritten(
    store: BlobStore, content: bytes
) -> None:
    path = store.address(DIGEST)
    path.parent.mkdir()
    path.write_bytes(content)
    assert not store.holds(DIGEST, len(BODY))
    with pytest.raises(BlobCorrupt):
        store.read(DIGEST)
    _put(store)
    assert store.read(DIGEST) == BODY


def test_a_flipped_byte_is_found_when_read_and_when_looked_for_again(store: BlobStore) -> None:
    _put(store)
    assert store.holds(DIGEST, len(BODY))
    path = store.address(DIGEST)
    path.write_bytes(b"?" + BODY[1:])
    assert not store.holds(DIGEST, len(BODY))
    with pytest.raises(BlobCorrupt, match="another digest"):
        store.read(DIGEST)


def test_a_body_that_is_gone_is_corrupt_and_named(store: BlobStore) -> None:
    with pytest.raises(BlobCorrupt) as error:
        store.read(DIGEST)
    assert error.value.digest == DIGEST


@pytest.mark.parametrize(
    "text",
    [
        "../../x",
        "/etc/passwd",
        DIGEST + "\n",
        DIGEST.upper(),
        "٠" * 64,
        "0x" + "a" * 62,
        "_" * 64,
        " " * 64,
        "",
        "a" * 63,
    ],
)
def test_what_is_no_digest_is_refused_before_any_path_is_made(store: BlobStore, text: str) -> None:
    for use in (store.address, store.read, store.remove, lambda d: store.holds(d, 1), store.batch().begin):
        with pytest.raises(FieldInvalid, match="64 lower-case hex"):
            use(text)


def test_other_bytes_than_announced_are_refused_and_leave_nothing(store: BlobStore, tmp_path: Path) -> None:
    batch = store.batch()
    batch.begin(DIGEST)
    batch.write(b"something else")
    with pytest.raises(BlobDigestMismatch):
        batch.end()
    batch.discard()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_planted_link_is_neither_followed_nor_written_through(store: BlobStore, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(BODY)
    path = store.address(DIGEST)
    path.parent.mkdir()
    path.symlink_to(victim)
    assert not store.holds(DIGEST, len(BODY))
    with pytest.raises(BlobCorrupt):
        store.read(DIGEST)
    victim.write_bytes(b"mine")
    _put(store)
    assert victim.read_bytes() == b"mine"
    assert not path.is_symlink()
    assert store.read(DIGEST) == BODY


def test_a_planted_pipe_holds_nobody_up(store: BlobStore) -> None:
    path = store.address(DIGEST)
    path.parent.mkdir()
    os.mkfifo(path)
    assert not store.holds(DIGEST, len(BODY))
    with pytest.raises(BlobCorrupt):
        store.read(DIGEST)


def test_a_planted_directory_link_is_refused(store: BlobStore, tmp_path: Path) -> None:
    elsewhere = tmp_path / "blobs-evil"
    elsewhere.mkdir()
    store.address(DIGEST).parent.symlink_to(elsewhere)
    with pytest.raises(DirectoryUnfit):
        _put(store)
    assert list(elsewhere.iterdir()) == []


def test_directories_and_files_are_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        _put(BlobStore(tmp_path / "blobs"))
    finally:
        os.umask(before)
    for path in (tmp_path / "blobs").rglob("*"):
        assert stat.S_IMODE(path.lstat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_every_body_is_synced_before_any_is_renamed_and_directories_after(
    store: BlobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No crash can then leave a name without its bytes."""
    steps: list[str] = []
    real_sync, real_rename = os.fsync, Path.rename
    monkeypatch.setattr(blobs_module.os, "fsync", lambda fd: (steps.append("sync"), real_sync(fd))[1])
    monkeypatch.setattr(Path, "rename", lambda self, target: (steps.append("rename"), real_rename(self, target))[1])
    bodies = [b"one", b"two", b"three"]
    batch = store.batch()
    for body in bodies:
        batch.begin(digest(body))
        batch.write(body)
        batch.end()
    steps.clear()
    batch.publish()
    assert steps[:6] == ["sync"] * 3 + ["rename"] * 3
    directories = {digest(body)[:2] for body in bodies} | {"blobs"}
    assert steps[6:] == ["sync"] * len(directories)


def test_what_a_killed_process_left_unfinished_is_removed_at_the_next_start(store: BlobStore, tmp_path: Path) -> None:
    batch = store.batch()
    batch.begin(DIGEST)
    batch.write(BODY)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(left) == 1
    BlobStore(tmp_path / "blobs")
    assert not left[0].exists()
    batch.discard()


def test_a_disk_that_refuses_is_counted_and_leaves_nothing(
    store: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    batch = store.batch()
    batch.begin(DIGEST)
    monkeypatch.setattr(blobs_module.os, "write", full)
    with pytest.raises(WriteFailed):
        batch.write(BODY)
    monkeypatch.undo()
    batch.discard()
    assert store.write_failure_count == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

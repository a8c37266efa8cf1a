"""The file of an activation state."""

import os
import stat
from pathlib import Path

import pytest

from ranktrail_cli import state_file
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.state_file import MAX_STATE_BYTES, read_state, write_state


def test_a_state_reads_back_byte_by_byte_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "s"
    write_state(path, b"\x00\xff\n")
    assert read_state(path) == b"\x00\xff\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_and_an_empty_file_are_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "s") is None
    (tmp_path / "s").touch()
    assert read_state(tmp_path / "s") is None


def test_a_write_that_fails_leaves_the_old_state_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s"
    write_state(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state_file.os, "fsync", full)
    with pytest.raises(CommandFailed, match="was not written") as caught:
        write_state(path, b"new")
    assert caught.value.exit_code is Exit.INCOMPLETE
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["s"]  # noqa: PTH208 - the names


def test_a_link_to_a_state_stays_a_link(tmp_path: Path) -> None:
    write_state(tmp_path / "real", b"1")
    (tmp_path / "link").symlink_to("real")
    write_state(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"2"


@pytest.mark.parametrize("name", ["missing/s", "folder"])
def test_a_place_that_cannot_hold_a_state_is_refused_before_anything_is_asked(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandFailed, match="--state") as caught:
        read_state(tmp_path / name)
    assert caught.value.exit_code is Exit.REFUSED


def test_a_file_larger_than_any_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"x" * (MAX_STATE_BYTES + 1))
    with pytest.raises(CommandFailed, match="more than 65536 bytes"):
        read_state(tmp_path / "s")

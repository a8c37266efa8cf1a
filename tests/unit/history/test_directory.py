"""The data directory."""

import os
import stat
from pathlib import Path

import pytest

from history_service.domain.errors import DirectoryUnfit
from history_service.store import directory as directory_module
from history_service.store.directory import file_system_of, lock_directory, make_private_tree
from ranktrail_serving.errors import DirectoryInUse


def test_every_level_that_is_made_is_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        last = make_private_tree(tmp_path / "a" / "b", "c", "d")
    finally:
        os.umask(before)
    for path in (last, *list(last.parents)[:3]):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_level_of_ours_that_others_could_enter_is_closed_and_the_top_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "top" / "history").mkdir(parents=True)
    (tmp_path / "top" / "history").chmod(0o755)
    (tmp_path / "top").chmod(0o755)
    make_private_tree(tmp_path / "top", "history")
    assert stat.S_IMODE((tmp_path / "top" / "history").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "top").stat().st_mode) == 0o755


def test_a_link_in_place_of_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "history").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DirectoryUnfit, match="move it away"):
        make_private_tree(tmp_path, "history")


def test_a_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    lock = lock_directory(tmp_path)
    with pytest.raises(DirectoryInUse, match=f"process {os.getpid()}"):
        lock_directory(tmp_path)
    lock.release()
    lock_directory(tmp_path).release()


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs"])
def test_a_network_mount_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/export {tmp_path} {kind} rw 0 0\n")
    monkeypatch.setattr(directory_module.file_system_of, "__defaults__", (mounts,))
    with pytest.raises(DirectoryUnfit, match=kind):
        lock_directory(tmp_path)


def test_the_nearest_mount_counts_and_the_later_of_two(tmp_path: Path) -> None:
    data = tmp_path / "a b" / "data"
    data.mkdir(parents=True)
    mounts = tmp_path / "mounts"
    escaped = str(tmp_path / "a b").replace(" ", r"\040")
    mounts.write_text(
        f"root / ext4 rw 0 0\nx {escaped} xfs rw 0 0\nx {escaped} nfs rw 0 0\ny {tmp_path} btrfs rw 0 0\n"
    )
    assert file_system_of(data, mounts) == "nfs"
    assert file_system_of(Path("/"), mounts) == "ext4"
    assert file_system_of(data, tmp_path / "missing") == ""

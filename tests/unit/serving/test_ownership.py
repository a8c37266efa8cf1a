"""Directories that somebody else owns, or that everybody may write to."""

import os
from pathlib import Path

import pytest

from ranktrail_serving import ownership
from ranktrail_serving.errors import DirectoryForeign
from ranktrail_serving.ownership import require_own


@pytest.fixture
def as_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership.os, "geteuid", lambda: os.getuid() + 1)


def test_an_own_directory_is_taken(tmp_path: Path) -> None:
    require_own(tmp_path, "data directory")


def test_somebody_elses_directory_is_refused_with_both_users(tmp_path: Path, as_another_user: None) -> None:
    with pytest.raises(DirectoryForeign, match=f"belongs to user {os.getuid()} and this is user {os.getuid() + 1}"):
        require_own(tmp_path, "data directory")


def test_a_directory_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(DirectoryForeign, match="chmod o-w"):
        require_own(tmp_path, "data directory")


def test_a_socket_may_lie_in_a_sticky_directory_and_data_may_not(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    require_own(tmp_path, "folder of a socket", or_root=True)
    with pytest.raises(DirectoryForeign):
        require_own(tmp_path, "data directory")

"""A store for the tests of this folder."""

from pathlib import Path

import pytest

from ranker_service.memory.commits import CommitStore


@pytest.fixture
def store(tmp_path: Path) -> CommitStore:
    """Open an empty store."""
    return CommitStore(tmp_path / "store")

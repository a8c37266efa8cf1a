"""A history service over a real Unix socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.history_server import RunningHistory


@pytest.fixture
def history(tmp_path: Path) -> Iterator[RunningHistory]:
    running = RunningHistory(tmp_path / "data", "--interrupted-grace", "0.2")
    yield running
    running.close()

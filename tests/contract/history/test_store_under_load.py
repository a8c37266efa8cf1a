"""Checks and backups while Runs are recorded, pinned, pruned and collected."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import history_cases as cases
from tests.fakes.history_server import HistoryClient, RunningHistory
from tests.store_checks import problems_of, write_backup


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[RunningHistory]:
    """A history that is given Runs over ever new memories, keeps three, and pins one of nine."""
    running = RunningHistory(tmp_path / "data", "--retain-runs", "3")
    ended = threading.Event()

    def load() -> None:
        client = HistoryClient(running.service.target)
        number = 0
        while not ended.is_set():
            bodies = {f"doc-{i}": f"{number} {i}".encode() * 50 for i in range(4)}
            cases.record(client, f"run-{number}", bodies=bodies)
            if number % 9 == 0:
                cases.create(client, f"run-{number}")
            number += 1
        client.close()

    thread = threading.Thread(target=load)
    thread.start()
    yield running
    ended.set()
    thread.join()
    running.close()


def test_checks_while_runs_come_and_go_find_nothing(busy: RunningHistory) -> None:
    assert [problem for number in range(30) for problem in problems_of(busy.history, repair=bool(number % 2))] == []


def test_backups_taken_while_runs_come_and_go_are_whole(busy: RunningHistory, tmp_path: Path) -> None:
    for number in range(10):
        copy = tmp_path / f"copy-{number}"
        write_backup(busy.history, copy)
        opened = RunningHistory(copy, "--inspect")
        assert problems_of(opened.history) == []
        assert len(opened.list().runs) >= min(number, 1)
        opened.close()
    assert not list((tmp_path / "data" / "history").glob(".snapshot-*"))

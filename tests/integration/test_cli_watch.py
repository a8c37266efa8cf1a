"""Commands without an end, as processes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from tests.fakes.services import FakeHistory, FakeRanker, served


class Command:
    """A running command whose output is JSON lines."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ranktrail_cli", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def line(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[int, str]:
        """Press Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=20)
        return self.process.returncode, err.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("1")
    return tmp_path / "notes"


@pytest.fixture
def ranker(tmp_path: Path) -> Iterator[FakeRanker]:
    fake = FakeRanker()
    with served(tmp_path, fake, None):
        yield fake


def test_a_watched_folder_is_synced_after_each_change_until_ctrl_c(
    tmp_path: Path, folder: Path, ranker: FakeRanker
) -> None:
    watch = Command("sync", str(folder), "--project", "p", "--watch", "--prune", "--json", "--data-dir", str(tmp_path))
    assert watch.line()["added_count"] == 1
    (folder / "a.md").write_text("2")
    assert watch.line()["changed_count"] == 1
    (folder / "sub").mkdir()
    (folder / "sub" / "b.md").write_text("x")
    assert watch.line()["added_count"] == 1
    (folder / "a.md").unlink()
    assert watch.line()["deleted_count"] == 1
    assert watch.end()[0] == 0


def test_hidden_files_do_not_start_a_sync(tmp_path: Path, folder: Path, ranker: FakeRanker) -> None:
    watch = Command("sync", str(folder), "--project", "p", "--watch", "--json", "--data-dir", str(tmp_path))
    watch.line()
    time.sleep(3)  # the watch is in place
    calls = ranker.calls
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_text("x")
    time.sleep(1)
    assert ranker.calls == calls
    assert watch.end()[0] == 0


def test_a_sync_that_fails_later_is_said_and_tried_again(tmp_path: Path, folder: Path) -> None:
    ranker = FakeRanker()
    with served(tmp_path, ranker, None):
        watch = Command("sync", str(folder), "--project", "p", "--watch", "--json", "--data-dir", str(tmp_path))
        watch.line()
        time.sleep(3)
    (folder / "a.md").write_text("2")
    assert watch.process.stderr is not None
    while not watch.process.stderr.readline().startswith(b"not synced: ranker cannot be reached"):
        pass
    with served(tmp_path, ranker, None):
        assert watch.line()["changed_count"] == 1
        assert watch.end()[0] == 0


def test_a_watch_whose_first_sync_fails_ends_with_its_code(tmp_path: Path, folder: Path) -> None:
    watch = Command("sync", str(folder), "--project", "p", "--watch", "--data-dir", str(tmp_path))
    _, err = watch.process.communicate(timeout=20)
    assert watch.process.returncode == 3
    assert len(err.splitlines()) == 1


def test_a_watch_of_runs_ends_with_0_on_ctrl_c(tmp_path: Path) -> None:
    class Endless(FakeHistory):
        def WatchRetrievalRuns(self, request: Any, context: Any) -> Iterator[history_pb2.WatchRetrievalRunsResponse]:  # noqa: N802
            yield history_pb2.WatchRetrievalRunsResponse(change_sequence=4)
            while context.is_active():
                time.sleep(0.05)

    with served(tmp_path, None, Endless()):
        watch = Command("runs", "watch", "--json", "--data-dir", str(tmp_path))
        assert watch.line() == {"run": None, "change_sequence": 4}
        assert watch.end() == (0, "")

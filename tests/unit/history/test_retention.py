"""Retention: exactly the newest unpinned terminal Runs of a project stay, besides the pinned and the running."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from history_service.domain.run import INTERRUPTED
from history_service.store import runs
from history_service.store.database import Database
from history_service.use_cases import prune_history
from history_service.use_cases.changes import Changes
from history_service.use_cases.prune_history import Retention
from tests.fakes.history_server import eventually
from tests.unit.history.kept import NOON_US, Store, a_trace


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        yield opened


def _rows_of(store: Store, project_id: str) -> list[str]:
    statement = f"SELECT run_id FROM retrieval_runs WHERE project_id = '{project_id}' ORDER BY sequence"  # noqa: S608
    return [run_id for (run_id,) in store.rows(statement)]


def test_of_501_runs_of_one_instant_exactly_the_500_that_arrived_last_stay_in_each_project(store: Store) -> None:
    for project in ("p", "q"):
        store.record(f"{project}-pinned", project_id=project)
        store.create_case.create(f"{project}-pinned", "", "")
        store.begin(f"{project}-running", project)
        traces = [a_trace(f"{project}-{n}", project_id=project, failed=n % 5 == 0) for n in range(501)]
        wait([store.recording.finish(trace) for trace in traces])
    store.record("r-0", project_id="r")
    assert store.prune.project("p") == 1
    assert _rows_of(store, "p") == ["p-pinned", "p-running", *(f"p-{n}" for n in range(1, 501))]
    assert len(_rows_of(store, "q")) == 503
    assert store.prune.project("q") == 1
    assert _rows_of(store, "q") == ["q-pinned", "q-running", *(f"q-{n}" for n in range(1, 501))]
    assert _rows_of(store, "r") == ["r-0"]
    assert [store.prune.project(project) for project in ("p", "q", "r", "nobody")] == [0, 0, 0, 0]


def test_newest_is_by_create_time_and_then_by_arrival(store: Store) -> None:
    store.prune = prune_history.PruneHistory(store.database, store.collect, 3)
    times = [5, 1, 9, 5, 5, 0, 9]
    for n, seconds in enumerate(times):
        store.record(f"run-{n}", create_time_us=NOON_US + seconds)
    assert store.prune.project("demo") == 4
    assert store.run_ids() == ["run-2", "run-4", "run-6"]


def test_a_run_that_is_delivered_late_is_not_newer_for_it(store: Store) -> None:
    store.prune = prune_history.PruneHistory(store.database, store.collect, 1)
    store.record("new", create_time_us=NOON_US + 1)
    store.record("late", create_time_us=NOON_US)
    store.prune.project("demo")
    assert store.run_ids() == ["new"]


def test_many_runs_go_in_steps_that_recording_gets_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = Database.write

    def counted(database: Database, job: object) -> object:
        future = write(database, job)  # type: ignore[arg-type, var-annotated]
        future.add_done_callback(lambda done: sizes.append(len(done.result())))
        return future

    for n in range(70):
        store.record(f"run-{n}")
    store.prune = prune_history.PruneHistory(store.database, store.collect, 1)
    monkeypatch.setattr(Database, "write", counted)
    assert store.prune.project("demo") == 69
    assert sizes == [32, 32, 5, 0]


def test_a_run_that_was_interrupted_counts_and_goes_as_others_do(store: Store) -> None:
    changes = Changes()
    store.prune = prune_history.PruneHistory(store.database, store.collect, 1)
    for n in range(3):
        store.begin(f"run-{n}")
    retention = Retention(store.prune, changes, lambda: 0, 1_000_000_000)
    time.sleep(0.1)
    assert store.run_ids() == ["run-0", "run-1", "run-2"]
    store.database.write(lambda db: runs.interrupt_runs(db, ["run-0", "run-2"], INTERRUPTED, NOON_US)).result()
    changes.tell()
    assert eventually(lambda: store.run_ids() == ["run-1", "run-2"])
    retention.close()


def test_a_removal_that_fails_is_logged_and_tried_again_after_the_next_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    changes = Changes()
    store.prune = prune_history.PruneHistory(store.database, store.collect, 1)
    broken = threading.Event()
    step = prune_history.PruneHistory._step

    def fails_once(prune: object, db: object, project_id: str) -> object:
        if not broken.is_set():
            broken.set()
            raise OSError("disk full")
        return step(prune, db, project_id)  # type: ignore[arg-type]

    monkeypatch.setattr(prune_history.PruneHistory, "_step", fails_once)
    for n in range(3):
        store.record(f"run-{n}")
    retention = Retention(store.prune, changes, lambda: 0, 1_000_000_000)
    assert eventually(broken.is_set)
    assert eventually(lambda: "could not remove" in caplog.text)
    assert len(store.run_ids()) == 3
    assert store.database.write_failure_count == 1
    changes.tell()
    assert eventually(lambda: store.run_ids() == ["run-2"])
    retention.close()


def test_everything_is_collected_from_time_to_time(store: Store) -> None:
    (store.directory / "blobs" / "ab").mkdir()
    stray = store.directory / "blobs" / "ab" / ("ab" * 32)
    stray.write_bytes(b"left by an upload that broke off")
    changes = Changes()
    retention = Retention(store.prune, changes, store.time, 50_000)
    time.sleep(0.2)
    assert stray.exists()
    store.time.us += 50_001
    changes.tell()
    assert eventually(lambda: not stray.exists())
    retention.close()

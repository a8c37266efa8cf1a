"""WatchRetrievalRuns: every change in order, in bounded memory, until somebody ends it."""

import contextlib
import threading
import time
from typing import Any

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import TIMEOUT, RunningHistory, error_of, eventually
from tests.history_builders import a_run, a_start

RUNNING, SUCCEEDED = 1, 2


def _watch(history: RunningHistory, **request: Any) -> Any:
    return history.history.WatchRetrievalRuns(pb.WatchRetrievalRunsRequest(**request), timeout=TIMEOUT)


def test_a_watch_says_that_it_is_in_place_and_then_sends_each_change(history: RunningHistory) -> None:
    history.record(a_run("before"))
    watch = _watch(history)
    first = next(watch)
    assert not first.HasField("run")
    assert first.change_sequence == history.runtime().change_sequence
    history.record(a_run("after"))
    changes = [next(watch)]
    while changes[-1].run.state != SUCCEEDED:
        changes.append(next(watch))
    assert {change.run.run_id for change in changes} == {"after"}
    assert changes[-1].run == history.get("after").run
    assert changes[-1].change_sequence == changes[-1].run.change_sequence
    watch.cancel()


def test_a_watch_goes_on_where_another_left_off(history: RunningHistory) -> None:
    history.record([frame for n in range(30) for frame in a_run(f"run-{n}", candidates=1)])
    watch = _watch(history, after_change_sequence=0)
    next(watch)
    seen = [next(watch) for _ in range(10)]
    watch.cancel()
    watch = _watch(history, after_change_sequence=seen[-1].change_sequence)
    next(watch)
    seen += [next(watch) for _ in range(20)]
    watch.cancel()
    assert [change.run.run_id for change in seen] == [f"run-{n}" for n in range(30)]
    assert [c.change_sequence for c in seen] == sorted(c.change_sequence for c in seen)


def test_a_watch_of_one_project_sees_no_other(history: RunningHistory) -> None:
    watch = _watch(history, project_id="p")
    next(watch)
    history.record(a_run("other"))
    history.record(a_run("mine", project_id="p"))
    assert next(watch).run.run_id == "mine"
    watch.cancel()


def test_many_changes_past_a_page_are_all_seen(history: RunningHistory) -> None:
    watch = _watch(history)
    next(watch)
    for start in range(0, 300, 30):
        history.record([frame for n in range(start, start + 30) for frame in a_run(f"run-{n}", candidates=0)])
    ends: dict[str, int] = {}
    while list(ends.values()).count(SUCCEEDED) < 300:
        run = next(watch).run
        ends[run.run_id] = run.state
    watch.cancel()
    assert set(ends.values()) == {SUCCEEDED}


def test_a_slow_watcher_costs_nobody_anything_and_misses_no_end(history: RunningHistory) -> None:
    watch = _watch(history)
    next(watch)
    for n in range(20):
        history.record(a_run(f"run-{n}"))
    time.sleep(0.2)
    ends: dict[str, int] = {}
    while list(ends.values()).count(SUCCEEDED) < 20:
        run = next(watch).run
        ends[run.run_id] = run.state
    watch.cancel()


@pytest.mark.parametrize("after", [-1, 10_000])
def test_a_position_that_history_has_not_reached_is_refused(history: RunningHistory, after: int) -> None:
    with pytest.raises(grpc.RpcError) as error:
        next(_watch(history, after_change_sequence=after))
    assert error_of(error.value)[1:] == ("FIELD_INVALID", {"field": "after_change_sequence", "limit": "0"})


def test_a_watcher_that_goes_away_frees_its_place_at_once(history: RunningHistory) -> None:
    watches = [_watch(history) for _ in range(16)]
    for watch in watches:
        next(watch)
    assert history.runtime().watcher_count == 16
    with pytest.raises(grpc.RpcError) as error:
        next(_watch(history))
    code, reason, metadata = error_of(error.value)
    assert (code, reason, metadata["limit"]) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED", "16")
    assert int(metadata["retry_after_ms"]) > 0
    for watch in watches:
        watch.cancel()
    assert eventually(lambda: history.runtime().watcher_count == 0, seconds=2)
    watch = _watch(history)
    next(watch)
    watch.cancel()


def test_a_server_that_stops_ends_every_long_call_promptly(history: RunningHistory) -> None:
    watch = _watch(history)
    next(watch)
    ended, hold = threading.Event(), threading.Event()

    def frames() -> Any:
        yield a_start()
        hold.wait(TIMEOUT)

    recording = history.history.RecordRetrievalRuns(frames(), timeout=TIMEOUT)
    assert eventually(lambda: history.runtime().running_run_count == 1)
    begin = time.monotonic()
    history.service.close()
    assert time.monotonic() - begin < 2.5
    for call in (watch, recording):
        with contextlib.suppress(grpc.RpcError):
            list(call)
        ended.set()
    hold.set()
    assert ended.is_set()

"""Calls that take too long are ended, and their thread goes when there is nothing left to watch."""

import threading
import time

from ranktrail_serving.ceilings import CeilingWatch
from ranktrail_serving.limits import CallLimits


def test_what_is_late_is_ended_once_and_what_was_dropped_never() -> None:
    watch, ended = CeilingWatch(step_seconds=0.01), []
    watch.add("call", 0.02, lambda: ended.append("late"))
    watch.drop(watch.add("call", 0.02, lambda: ended.append("dropped")))
    watch.add("call", 60, lambda: ended.append("early"))
    time.sleep(0.2)
    assert ended == ["late"]


def test_the_thread_ends_with_its_work_and_comes_back_for_more() -> None:
    watch, ended = CeilingWatch(step_seconds=0.01), threading.Event()
    for _ in range(2):
        ended.clear()
        watch.add("call", 0.0, ended.set)
        assert ended.wait(5)
        until = time.monotonic() + 5
        while watch._is_running and time.monotonic() < until:
            time.sleep(0.01)
        assert not watch._is_running


def test_a_stream_that_is_meant_to_stay_open_has_no_ceiling() -> None:
    limits = CallLimits({"/s/Watch": 1}, 1, {"/s/Watch": float("inf"), "/s/Slow": 0.0})
    limits._watch = CeilingWatch(step_seconds=0.01)
    watched, slow = threading.Event(), threading.Event()
    with limits.ceiling("/s/Watch", watched.set), limits.ceiling("/s/Slow", slow.set):
        assert slow.wait(5)
    assert not watched.is_set()

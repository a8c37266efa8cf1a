"""The recorder against a history that is stopped, late, silent, slow, flapping or refusing.

Whatever history does, the caller's time stays the same, and in the end each Run has arrived once, oldest first.
"""

import logging
import signal
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.recorder import connection, delivery
from ranker_service.recorder.status import RecorderState
from tests.fakes.recording import HistoryProcess, Rig, a_rig
from tests.traces import a_failed_trace, a_trace

BODIES = {"guide.md": "Guide", "faq.md": "Questions", "empty.md": ""}
CALLER_SECONDS = 0.05
"""Far above what a Run costs its caller, far below any wait for history."""


@pytest.fixture
def rig() -> Iterator[Rig]:
    with a_rig() as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the recorder take half a second without an answer for silence."""
    monkeypatch.setattr(delivery, "FIRST_PATIENCE_SECONDS", 0.5)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_history_that_starts_late_gets_every_run_in_order(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.open().start()
    memory = rig.register(BODIES)
    times = rig.run(memory, 50)
    rig.wait(lambda: bool(rig.recorder and rig.recorder.status().last_error), "the outage")
    assert rig.recorder is not None
    assert rig.recorder.status().state is RecorderState.WAITING
    assert rig.recorder.status().pending_run_count == 50
    rig.history.start(rig.address)
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS
    assert rig.recorder.status().state is RecorderState.CONNECTED
    assert rig.recorder.status().last_error == ""
    assert rig.history.most_unanswered <= 32
    assert len(warnings(caplog)) == 1, "one line an outage"


def test_history_that_stops_in_the_middle_and_comes_back_gets_every_run_once(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory, 10)
    rig.wait_delivered()
    rig.history.stop()
    times = rig.run(memory, 30)
    time.sleep(0.3)
    assert len(warnings(caplog)) == 1
    rig.history.start(rig.address)
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS


def test_streams_cut_after_any_frame_leave_no_half_run_and_lose_none(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open()
    memory = rig.register(BODIES)
    rig.run(memory, 12)
    assert rig.recorder is not None
    rig.recorder.start()
    for frames in range(1, 12):
        rig.history.faults.ends_after_frames = frames
        time.sleep(0.05)
    rig.history.faults.ends_after_frames = None
    rig.wait_delivered()
    for run in rig.history.runs.values():
        assert run.finished is not None
        assert len(run.candidates) == run.finished.candidate_count


def test_answers_that_are_lost_after_the_commit_record_nothing_twice(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.history.faults.lost_answers = 4
    rig.open().start()
    rig.run(rig.register(BODIES), 8)
    rig.wait_delivered()
    assert sum(answer.recorded.already_recorded for answer in rig.history.answers) >= 1


@pytest.mark.usefixtures("impatient")
def test_a_history_that_takes_frames_and_never_answers_costs_the_caller_nothing(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory)
    rig.wait_delivered()
    rig.history.faults.silent.set()
    times = rig.run(memory, 40)
    assert rig.recorder is not None
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().state is RecorderState.WAITING, "silence noticed")
    times += rig.run(memory, 10)
    rig.history.faults.silent.clear()
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS
    assert max(times) < 1.0


@pytest.mark.usefixtures("impatient")
def test_a_frozen_history_process_gets_every_run_once_it_thaws(rig: Rig) -> None:
    history = HistoryProcess(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory)
    assert rig.recorder is not None
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().recorded_run_count == 1, "the first Run")
    history.send(signal.SIGSTOP)
    times = rig.run(memory, 100, candidates=100)
    rig.wait(lambda: recorder.status().state is RecorderState.WAITING, "silence noticed")
    assert recorder.status().pending_run_count == 100
    history.send(signal.SIGCONT)
    rig.wait(lambda: recorder.status().recorded_run_count == 101, "delivery")
    history.end()
    assert statistics.median(times) < CALLER_SECONDS


def test_a_listener_that_never_speaks_costs_nothing_and_the_history_that_follows_it_gets_every_run(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(rig.address.removeprefix("unix:"))
        listener.listen(8)
        rig.open().start()
        memory = rig.register(BODIES)
        times = rig.run(memory, 20)
        assert rig.recorder is not None
        recorder = rig.recorder
        rig.wait(lambda: recorder.status().last_error != "", "the outage")
        assert recorder.status().state is RecorderState.WAITING
    rig.history.start(rig.address)
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS
    assert len(warnings(caplog)) == 1


def test_a_history_that_flaps_every_two_hundred_milliseconds_gets_every_run_once(rig: Rig) -> None:
    rig.open().start()
    memory = rig.register(BODIES)
    flapping = threading.Event()

    def flap() -> None:
        while not flapping.wait(0.2):
            rig.history.start(rig.address)
            flapping.wait(0.2)
            rig.history.stop()

    thread = threading.Thread(target=flap)
    thread.start()
    times = []
    for _ in range(40):
        times += rig.run(memory, 2)
        time.sleep(0.05)
    flapping.set()
    thread.join()
    rig.history.start(rig.address)
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS


def test_a_slow_history_gets_every_run_however_short_the_patience(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "FIRST_PATIENCE_SECONDS", 0.1)
    rig.history.start(rig.address)
    rig.history.faults.delay_seconds = 0.6
    rig.open().start()
    memory = rig.register(BODIES)
    times = rig.run(memory, 4)
    rig.wait_delivered()
    assert statistics.median(times) < CALLER_SECONDS


@pytest.mark.parametrize("reason", ["INTERNAL", "OVERLOADED", "A_REASON_OF_TOMORROW"])
def test_a_refusal_that_may_pass_is_tried_again(rig: Rig, caplog: pytest.LogCaptureFixture, reason: str) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory)
    rig.wait_delivered()
    rig.history.faults.refusals.extend([reason] * 4)
    rig.run(memory, 6)
    assert rig.recorder is not None
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().pending_run_count == 0, "delivery")
    assert sorted(rig.history.recorded) == rig.sent, "what was under way beside a refused Run may overtake it"
    assert len(warnings(caplog)) == 1
    assert reason in warnings(caplog)[0]


@pytest.mark.parametrize("reason", ["RUN_CONFLICT", "FIELD_INVALID"])
def test_a_final_refusal_is_counted_logged_once_and_not_repeated(
    rig: Rig, caplog: pytest.LogCaptureFixture, reason: str
) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.history.faults.refusals.extend([reason] * 3)
    rig.run(memory, 5)
    assert rig.recorder is not None
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().pending_run_count == 0, "the end")
    assert recorder.status().refused_run_count == 3
    assert recorder.status().recorded_run_count == 2
    assert rig.history.recorded == rig.sent[3:]
    assert len(rig.history.answers) == 5
    assert len(warnings(caplog)) == 1


def test_a_memory_cleared_while_its_runs_are_undelivered_is_delivered_whole(rig: Rig) -> None:
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory, 3)
    assert rig.recorder is not None
    rig.recorder.corpora.retain("project")
    for path in (rig.directory / "memory").iterdir():
        path.unlink()
    rig.register({})
    rig.history.start(rig.address)
    rig.wait_delivered()
    assert rig.history.blobs == {digest_of(body.encode()): body.encode() for body in BODIES.values()}
    recorder = rig.recorder
    rig.wait(lambda: not list((rig.directory / "spool" / "bodies").iterdir()), "the spool's end")
    rig.wait(lambda: recorder.status().spool_bytes == 0, "an empty journal")


def test_a_restart_delivers_what_was_left_of_a_memory_that_changed_since(rig: Rig) -> None:
    rig.open().start()
    first = rig.register(BODIES)
    rig.run(first, 3)
    second = rig.register(BODIES | {"guide.md": "Guide, second edition"})
    rig.run(second, 3)
    assert rig.recorder is not None
    rig.recorder.close(0.0)
    rig.open()
    rig.register(BODIES | {"guide.md": "Guide, third edition"})
    rig.history.start(rig.address)
    rig.recorder.start()
    rig.wait_delivered()
    assert {first.hash, second.hash} <= set(rig.history.corpora)


def test_a_history_that_lost_a_corpus_is_given_it_again(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    rig.run(memory)
    rig.wait_delivered()
    rig.history.corpora.clear()
    rig.history.blobs.clear()
    rig.run(memory, 5)
    rig.wait_delivered()
    assert set(rig.history.corpora) == {memory.hash}


def test_a_run_whose_corpus_can_no_longer_be_had_is_refused_and_holds_nothing_up(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.open()
    lost = rig.register(BODIES)
    rig.run(lost, 2)
    kept = rig.register({"other.md": "Other"})
    for path in (rig.directory / "memory").iterdir():
        if path.name in {resource.digest for resource in lost.resources}:
            path.unlink()
    rig.run(kept, 2)
    rig.history.start(rig.address)
    assert rig.recorder is not None
    recorder = rig.recorder
    recorder.start()
    rig.wait(lambda: recorder.status().pending_run_count == 0, "the end")
    assert rig.history.recorded == rig.sent[2:]
    assert recorder.status().refused_run_count == 2
    assert "can no longer be had" in caplog.text


def test_a_corpus_that_cannot_be_put_yet_delays_no_other_corpus_and_arrives_later(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.history.faults.put_failures.extend(["INTERNAL", "OVERLOADED", "INTERNAL"])
    rig.open()
    slow = rig.register(BODIES, "slow")
    rig.run(slow, 2)
    swift = rig.register({"swift.md": "Swift"}, "swift")
    rig.run(swift, 2)
    rig.history.corpora[swift.hash] = []
    assert rig.recorder is not None
    rig.recorder.start()
    rig.wait(lambda: len(rig.history.recorded) == 4, "delivery")
    assert sorted(rig.history.recorded) == rig.sent
    assert slow.hash in rig.history.corpora


def test_a_body_that_changed_on_disk_is_never_stored_under_its_digest(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open()
    memory = rig.register(BODIES)
    (rig.directory / "memory" / digest_of(b"Guide")).write_bytes(b"Guess")
    rig.run(memory)
    rig.register({})
    assert rig.recorder is not None
    recorder = rig.recorder
    recorder.start()
    rig.wait(lambda: recorder.status().refused_run_count == 1, "the refusal")
    assert b"Guess" not in rig.history.blobs.values()
    assert rig.history.recorded == []


def test_bodies_of_any_size_travel_in_messages_far_below_the_limit(rig: Rig) -> None:
    bodies = {f"tiny-{i}": str(i) for i in range(20_000)}
    bodies |= {"large": "x" * 5 * 1024**2, "frame": "y" * 1024**2, "more": "z" * (1024**2 + 1), "empty": ""}
    rig.history.start(rig.address)
    rig.open().start()
    rig.run(rig.register(bodies))
    rig.wait_delivered()
    assert len(rig.history.blobs) == len(bodies)
    assert rig.history.largest_message < 1.2 * 1024**2


def test_a_run_of_five_hundred_large_candidates_is_delivered(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    rig.run(rig.register(BODIES), candidates=500)
    rig.wait_delivered()


def test_a_run_too_large_for_any_message_is_refused_here_and_holds_nothing_up(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    memory = rig.register(BODIES)
    trace = a_trace("too-large", memory, query="?" * (4 * 1024**2))
    rig.keep(trace)
    rig.run(memory)
    assert rig.recorder is not None
    recorder = rig.recorder
    rig.wait(lambda: recorder.status().pending_run_count == 0, "the end")
    assert recorder.status().refused_run_count == 1
    assert rig.history.recorded == rig.sent[1:]


def test_a_run_is_listed_as_running_before_it_has_finished(rig: Rig) -> None:
    rig.history.start(rig.address)
    recorder = rig.open()
    recorder.start()
    rig.wait(lambda: recorder.status().state is RecorderState.CONNECTED, "the stream")
    memory = rig.register(BODIES)
    trace = a_trace("live", memory)
    recorder.started(trace)
    rig.wait(lambda: "live" in rig.history.runs, "the announcement")
    assert rig.history.runs["live"].finished is None
    recorder.finished(trace)
    rig.sent.append("live")
    rig.wait_delivered()
    assert rig.history.runs["live"].finished is not None


def test_a_run_that_failed_early_is_recorded_without_a_corpus(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open().start()
    rig.keep(a_failed_trace("failed"))
    rig.wait_delivered()


def test_a_defect_while_sending_ends_the_stream_and_loses_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.history.start(rig.address)
    recorder = rig.open()
    memory = rig.register(BODIES)
    rig.run(memory, 6)
    read, failures = recorder._journal.read, iter([True, False, True, True])

    def breaking(pending: object) -> object:
        if next(failures, False):
            raise RuntimeError("a defect")
        return read(pending)  # type: ignore[arg-type]

    monkeypatch.setattr(recorder._journal, "read", breaking)
    recorder.start()
    rig.wait_delivered()


def test_the_token_travels_with_the_stream(rig: Rig) -> None:
    rig.history.start(rig.address)
    rig.open(token="secret").start()  # noqa: S106 - a test's token
    rig.run(rig.register(BODIES))
    rig.wait_delivered()
    assert rig.history.metadata["authorization"] == "Bearer secret"


def test_the_channel_sends_no_keepalive_pings_which_default_servers_punish() -> None:
    assert not [name for name, _ in connection._OPTIONS if "keepalive" in name]


def test_closing_delivers_what_waits_where_history_answers(rig: Rig) -> None:
    rig.history.start(rig.address)
    recorder = rig.open()
    recorder.start()
    memory = rig.register(BODIES)
    rig.run(memory)
    rig.wait_delivered()
    rig.run(memory, 20)
    recorder.close(10.0)
    assert rig.history.recorded == rig.sent
    rig.recorder = None
    assert not list(Path(rig.directory / "spool").glob("*.journal"))

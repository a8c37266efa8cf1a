"""The outbox: oldest first, never too many unanswered, and nothing that waits holds up what need not."""

import threading
import time

from ranker_service.recorder.corpora import Availability
from ranker_service.recorder.journal import Pending
from ranker_service.recorder.outbox import (
    ANNOUNCE_AFTER_SECONDS,
    MOST_ANNOUNCED,
    MOST_FAILURES,
    MOST_OPEN,
    POSTPONE_SECONDS,
    Announcement,
    Dispatch,
    Outbox,
)
from ranker_service.system import SystemClock
from tests.fakes.clock import ManualClock


class Corpora:
    """Says READY but for the hashes that it was told about."""

    def __init__(self) -> None:
        self.states: dict[str, Availability] = {}

    def __call__(self, memory_hash: str) -> Availability:
        return self.states.get(memory_hash, Availability.READY)


def an_outbox(count: int = 0) -> tuple[Outbox, ManualClock, Corpora, list[Pending]]:
    clock, corpora = ManualClock(), Corpora()
    outbox = Outbox(clock, corpora)
    runs = [Pending(1, i, 1, f"run-{i:03}", "memory") for i in range(count)]
    outbox.offer(reversed(runs))
    return outbox, clock, corpora, runs


def announce(outbox: Outbox, clock: ManualClock, run_id: str) -> Announcement:
    """Announce a Run that lasts."""
    announcement = Announcement(run_id, b"frame of " + run_id.encode())
    outbox.announce(announcement)
    clock.elapsed_us += int(ANNOUNCE_AFTER_SECONDS * 1_000_000)
    return announcement


class Sender:
    """Sends on one stream whatever may go, as fast as it may."""

    def __init__(self, outbox: Outbox) -> None:
        self.items: list[Announcement | Dispatch] = []
        self._outbox = outbox
        self._stream = outbox.begin_stream()
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        while (item := self._outbox.next(self._stream)) is not None:
            self.items.append(item)

    def runs(self) -> list[str]:
        """Return what was sent once nothing more follows."""
        seen = -1
        while seen < len(self.items):
            seen = len(self.items)
            time.sleep(0.03)
        return [item.pending.run_id if isinstance(item, Dispatch) else item.run_id for item in self.items]


def test_one_run_goes_first_and_after_its_answer_at_most_thirty_two() -> None:
    outbox, _, _, runs = an_outbox(80)
    sender = Sender(outbox)
    assert sender.runs() == ["run-000"]
    outbox.settle(runs[0])
    assert sender.runs() == [f"run-{i:03}" for i in range(MOST_OPEN + 1)]
    outbox.settle(runs[5])
    assert sender.runs()[MOST_OPEN + 1 :] == [f"run-{MOST_OPEN + 1:03}"]


def test_thirty_two_is_the_most_whatever_is_announced() -> None:
    outbox, clock, _, runs = an_outbox(80)
    sender = Sender(outbox)
    for i in range(50):
        announce(outbox, clock, f"live-{i}")
    outbox.settle(runs[0])
    assert len(sender.runs()) == 1 + MOST_OPEN
    assert sum(isinstance(item, Announcement) for item in sender.items) == MOST_ANNOUNCED


def test_what_a_stream_left_unanswered_goes_again_in_order() -> None:
    outbox, _, _, runs = an_outbox(5)
    stream = outbox.begin_stream()
    outbox.next(stream)
    outbox.settle(runs[0])
    assert [outbox.next(stream) for _ in range(3)] == [Dispatch(run, announced=False, lost=False) for run in runs[1:4]]
    outbox.end_stream()
    assert outbox.next(stream) is None
    assert Sender(outbox).runs() == ["run-001"]


def test_runs_whose_corpus_is_missing_delay_no_others_and_go_when_it_comes() -> None:
    outbox, _, corpora, _ = an_outbox(2)
    other = Pending(1, 50, 1, "other", "other memory")
    outbox.offer([other])
    corpora.states["memory"] = Availability.WAITING
    sender = Sender(outbox)
    assert sender.runs() == ["other"]
    outbox.settle(other)
    corpora.states.clear()
    outbox.unblock("memory")
    assert sender.runs() == ["other", "run-000", "run-001"]


def test_a_run_whose_corpus_is_lost_is_handed_out_as_lost() -> None:
    outbox, _, corpora, runs = an_outbox(1)
    corpora.states["memory"] = Availability.LOST
    assert outbox.next(outbox.begin_stream()) == Dispatch(runs[0], announced=False, lost=True)


def test_announcements_need_an_open_stream_and_go_before_everything() -> None:
    outbox, clock, _, runs = an_outbox(1)
    announce(outbox, clock, "too early")
    stream = outbox.begin_stream()
    announcement = announce(outbox, clock, "run-000")
    assert outbox.next(stream) == announcement
    assert outbox.next(stream) == Dispatch(runs[0], announced=True, lost=False)
    outbox.end_stream()
    stream = outbox.begin_stream()
    assert outbox.next(stream) == Dispatch(runs[0], announced=False, lost=False), "another stream, whole again"


def test_announced_runs_that_never_finish_do_not_keep_finished_ones_out() -> None:
    outbox, clock, _, runs = an_outbox(40)
    stream = outbox.begin_stream()
    for i in range(100):
        announce(outbox, clock, f"leaked-{i}")
    for _ in range(MOST_ANNOUNCED):
        assert isinstance(outbox.next(stream), Announcement)
    outbox.next(stream)
    outbox.settle(runs[0])
    for run in runs[1:]:
        dispatch = outbox.next(stream)
        assert isinstance(dispatch, Dispatch)
        assert dispatch.pending == run
        outbox.settle(run)


def test_a_dropped_run_that_was_not_announced_yet_is_not_announced() -> None:
    outbox, clock, *_ = an_outbox()
    stream = outbox.begin_stream()
    for i in range(2 * MOST_ANNOUNCED):
        announce(outbox, clock, f"dropped-{i}")
        outbox.retract(f"dropped-{i}")
    announcement = announce(outbox, clock, "live")
    assert outbox.next(stream) == announcement


def test_a_run_that_is_soon_over_is_not_announced() -> None:
    outbox, clock, _, (run,) = an_outbox(1)
    stream = outbox.begin_stream()
    outbox.next(stream)
    outbox.settle(run)
    outbox.announce(Announcement("short", b""))
    outbox.announce(Announcement("long", b""))
    short = Pending(1, 1, 1, "short", "memory")
    outbox.offer([short])
    clock.elapsed_us += int(ANNOUNCE_AFTER_SECONDS * 1_000_000)
    assert outbox.next(stream) == Announcement("long", b"")
    assert outbox.next(stream) == Dispatch(short, announced=False, lost=False)


def test_a_sender_that_slept_long_hears_of_a_run_that_lasts() -> None:
    outbox = Outbox(SystemClock(), Corpora())
    sender = Sender(outbox)
    time.sleep(0.05)
    outbox.announce(Announcement("lasting", b""))
    time.sleep(3 * ANNOUNCE_AFTER_SECONDS)
    assert sender.runs() == ["lasting"]


def test_what_history_has_begun_counts_until_it_answers_even_if_the_run_cannot_be_sent() -> None:
    outbox, clock, corpora, runs = an_outbox(60)
    stream = outbox.begin_stream()
    for run in runs[:MOST_ANNOUNCED]:
        announce(outbox, clock, run.run_id)
        outbox.next(stream)
    corpora.states["memory"] = Availability.LOST
    for run in runs[:MOST_ANNOUNCED]:
        assert outbox.next(stream) == Dispatch(run, announced=True, lost=True)
        outbox.discard(run)
    corpora.states.clear()
    outbox.next(stream)
    outbox.settle(runs[MOST_ANNOUNCED])
    for run in runs[MOST_ANNOUNCED + 1 :][: MOST_OPEN - MOST_ANNOUNCED]:
        assert outbox.next(stream) == Dispatch(run, announced=False, lost=False)
    more: list[object] = []
    threading.Thread(target=lambda: more.append(outbox.next(stream)), daemon=True).start()
    time.sleep(0.05)
    assert more == []
    outbox.end_stream()


def test_a_run_put_back_unsent_does_not_begin_twice_on_its_stream() -> None:
    outbox, clock, _, runs = an_outbox(1)
    stream = outbox.begin_stream()
    announce(outbox, clock, runs[0].run_id)
    outbox.next(stream)
    outbox.next(stream)
    outbox.put_back_for(runs[0], 1.0)
    clock.elapsed_us += 1_000_001
    assert outbox.next(stream) == Dispatch(runs[0], announced=True, lost=False)
    outbox.resend(runs[0])
    assert outbox.next(stream) == Dispatch(runs[0], announced=False, lost=False), "history forgot what it refused"


def test_after_a_refusal_nothing_is_sent_for_a_time_and_then_the_same_run() -> None:
    outbox, clock, _, runs = an_outbox(3)
    sender = Sender(outbox)
    assert sender.runs() == ["run-000"]
    outbox.resend_after(runs[0], 2.0)
    assert sender.runs() == ["run-000"]
    clock.elapsed_us += 2_000_001
    outbox.wake()
    assert sender.runs() == ["run-000", "run-000"], "and no other before its answer"


def test_a_run_that_fails_again_and_again_lets_the_others_go_and_is_not_forgotten() -> None:
    outbox, clock, _, runs = an_outbox(2)
    for _ in range(MOST_FAILURES):
        assert outbox.next(outbox.begin_stream()) == Dispatch(runs[0], announced=False, lost=False)
        outbox.end_stream(blame=True)
    sender = Sender(outbox)
    assert sender.runs() == ["run-001"]
    outbox.settle(runs[1])
    clock.elapsed_us += int(POSTPONE_SECONDS * 1_000_000) + 1
    outbox.wake()
    assert sender.runs() == ["run-001", "run-000"]


def test_ends_of_a_stream_that_are_historys_own_fault_blame_no_run() -> None:
    outbox, _, _, runs = an_outbox(2)
    for _ in range(3 * MOST_FAILURES):
        assert outbox.next(outbox.begin_stream()) == Dispatch(runs[0], announced=False, lost=False)
        outbox.end_stream()


def test_a_run_that_was_kept_twice_is_sent_once_at_a_time() -> None:
    outbox, clock, _, _ = an_outbox()
    twice = [Pending(1, i, 1, "twice", "") for i in range(2)]
    outbox.offer(twice)
    stream = outbox.begin_stream()
    assert outbox.next(stream) == Dispatch(twice[0], announced=False, lost=False)
    outbox.settle(twice[0])
    outbox.end_stream()
    clock.elapsed_us += 2_000_000
    assert outbox.next(outbox.begin_stream()) == Dispatch(twice[1], announced=False, lost=False)


def test_history_owes_an_answer_from_the_first_unanswered_run_or_the_last_answer() -> None:
    outbox, clock, _, runs = an_outbox(3)
    clock.elapsed_us = 10_000_000
    assert outbox.owed_seconds() == 0.0
    stream = outbox.begin_stream()
    outbox.next(stream)
    clock.elapsed_us += 3_000_000
    assert outbox.owed_seconds() == 3.0
    outbox.settle(runs[0])
    assert outbox.owed_seconds() == 0.0
    outbox.next(stream)
    clock.elapsed_us += 1_000_000
    outbox.next(stream)
    assert outbox.owed_seconds() == 1.0


def test_draining_ends_the_stream_once_everything_is_answered() -> None:
    outbox, _, _, runs = an_outbox(1)
    stream = outbox.begin_stream()
    outbox.next(stream)
    outbox.drain()
    ended: list[object] = []
    thread = threading.Thread(target=lambda: ended.append(outbox.next(stream)))
    thread.start()
    time.sleep(0.05)
    assert ended == []
    outbox.settle(runs[0])
    thread.join(2)
    assert ended == [None]

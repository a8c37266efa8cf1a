"""What is sent to history next: announcements of Runs that began, and Runs from the journal."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ranker_service.ports import Clock
from ranker_service.recorder.backlog import Backlog
from ranker_service.recorder.corpora import Availability
from ranker_service.recorder.journal import Pending

MOST_OPEN = 32
"""Runs of one stream that have begun on it and are not answered."""
MOST_ANNOUNCED = 16
"""Runs among them that have not finished, so that they never keep the finished ones out."""
MOST_FAILURES = 8
"""After so many failures in a row a Run lets the others go first."""
POSTPONE_SECONDS = 60.0
ANNOUNCE_AFTER_SECONDS = 0.03
"""A Run that is over sooner is sent whole and never announced: telling it twice would cost its reply milliseconds."""
ATTENTIVE_SECONDS = 1.0
"""So long after a Run began the sender looks for the next by itself, so that no reply spends time on waking it."""
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Announcement:
    """A Run that began, and its first frame."""

    run_id: str
    frame: bytes


@dataclass(frozen=True, slots=True)
class _Due:
    """An announcement and when it leaves, if the Run is not over by then."""

    us: int
    announcement: Announcement


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A Run to send. Its first frame has gone already if it is `announced`; one that is `lost` has no corpus."""

    pending: Pending
    announced: bool
    lost: bool


class Outbox:
    """The order in which one stream after another sends. Every public method is safe to call from any thread.

    A stream has one unanswered Run until its first answer. `availability` says whether the corpus of a hash lets its
    Runs go.
    """

    def __init__(self, clock: Clock, availability: Callable[[str], Availability]) -> None:
        self._clock = clock
        self._availability = availability
        self._changed = threading.Condition()
        self._backlog = Backlog()
        self._failures: dict[str, int] = {}
        self._announcements: deque[_Due] = deque()
        self._announced: set[str] = set()  # sent on this stream; history counts them until it answers
        self._unanswered: dict[str, Pending] = {}
        self._stream = 0
        self._open = False
        self._draining = False
        self._window = 1
        self._held_until_us = 0
        self._owed_since_us = 0
        self._attentive_until_us = 0
        self._sleeps = False

    def offer(self, pendings: Iterable[Pending]) -> None:
        """Add Runs that the journal holds. A sender that has nothing to do sees them after `wake`."""
        with self._changed:
            for pending in pendings:
                self._backlog.add(pending)
                self._withdraw(pending.run_id)

    def wake(self) -> None:
        """Have the sender look for what was offered."""
        with self._changed:
            self._changed.notify_all()

    def announce(self, announcement: Announcement) -> None:
        """Tell history that a Run began, if a stream is open, not many are announced already, and the Run lasts."""
        with self._changed:
            if not self._open or len(self._announcements) + len(self._announced) >= MOST_ANNOUNCED:
                return
            self._announcements.append(_Due(self._after(ANNOUNCE_AFTER_SECONDS), announcement))
            self._attentive_until_us = self._after(ATTENTIVE_SECONDS)
            if self._sleeps:
                self._changed.notify_all()

    def retract(self, run_id: str) -> None:
        """Do not announce a Run whose trace was not kept, if that has not happened yet."""
        with self._changed:
            self._withdraw(run_id)

    def unblock(self, memory_hash: str) -> None:
        """Let the Runs of a corpus go."""
        with self._changed:
            self._backlog.unblock(memory_hash)
            self._changed.notify_all()

    def begin_stream(self) -> int:
        """Begin a stream and return its number."""
        with self._changed:
            self._stream += 1
            self._open = True
            self._window = 1
            return self._stream

    def end_stream(self, *, blame: bool = False) -> None:
        """End the stream: what it left unanswered waits again. With `blame`, a Run that was alone counts a failure."""
        with self._changed:
            unanswered = list(self._unanswered.values())
            for pending in unanswered:
                if blame and len(unanswered) == 1:
                    self._put_back(pending)
                else:
                    self._backlog.add(pending)
            self._unanswered.clear()
            self._announced.clear()
            self._announcements.clear()
            self._open = False
            self._changed.notify_all()

    def drain(self) -> None:
        """Let the stream end as soon as every Run that can be sent is answered."""
        with self._changed:
            self._draining = True
            self._changed.notify_all()

    def next(self, stream: int) -> Announcement | Dispatch | None:
        """Wait for what the stream sends next; None when it is to end."""
        with self._changed:
            while self._open and self._stream == stream:
                now_us = self._clock.monotonic_us()
                if self._announcements and self._announcements[0].us <= now_us:
                    announcement = self._announcements.popleft().announcement
                    self._announced.add(announcement.run_id)
                    return announcement
                dispatch = self._dispatch(now_us)
                if dispatch is not None:
                    return dispatch
                if self._draining and not self._unanswered:
                    return None
                self._wait()
            return None

    def unanswered(self, run_id: str) -> Pending | None:
        """Return the Run that an answer is about; None when none is expected."""
        with self._changed:
            return self._unanswered.get(run_id)

    def settle(self, pending: Pending) -> None:
        """Take a Run as done: history answered, and it is not to be sent again."""
        with self._changed:
            self._failures.pop(pending.run_id, None)
            self._take_answer(pending)

    def discard(self, pending: Pending) -> None:
        """Take a Run as done that was handed out and cannot be sent."""
        with self._changed:
            self._failures.pop(pending.run_id, None)
            self._take_back(pending)

    def resend(self, pending: Pending) -> None:
        """Send a Run that history refused again, as soon as its corpus allows."""
        with self._changed:
            self._take_answer(pending)
            self._put_back(pending)

    def resend_after(self, pending: Pending, seconds: float) -> None:
        """Send nothing for so long, then a Run that history refused again, and only one Run until its answer."""
        with self._changed:
            self._take_answer(pending)
            self._hold(seconds)
            self._put_back(pending)

    def put_back_for(self, pending: Pending, seconds: float) -> None:
        """Send nothing for so long, then a Run that was handed out and could not be sent yet."""
        with self._changed:
            self._take_back(pending)
            self._hold(seconds)
            self._put_back(pending)

    def owed_seconds(self) -> float:
        """Return how long history has owed an answer; 0 when it owes none."""
        with self._changed:
            waited = self._clock.monotonic_us() - self._owed_since_us
            return waited / _MICROSECONDS if self._unanswered else 0.0

    def _dispatch(self, now_us: int) -> Dispatch | None:
        """Take the oldest Run that may go now; those that wait for a corpus step aside."""
        open_runs = len(self._announced.union(self._unanswered))
        if now_us < self._held_until_us or len(self._unanswered) >= self._window or open_runs >= MOST_OPEN:
            return None
        while (pending := self._backlog.take(now_us)) is not None:
            if pending.run_id in self._unanswered:
                self._backlog.postpone(pending, self._after(1.0))  # the same Run, kept twice
                continue
            availability = self._availability(pending.effective_memory_hash)
            if availability is Availability.WAITING:
                self._backlog.block(pending)
                continue
            return self._take(pending, now_us, lost=availability is Availability.LOST)
        return None

    def _take(self, pending: Pending, now_us: int, *, lost: bool) -> Dispatch:
        if not self._unanswered:
            self._owed_since_us = now_us
        self._unanswered[pending.run_id] = pending
        return Dispatch(pending, pending.run_id in self._announced, lost)

    def _take_back(self, pending: Pending) -> None:
        self._unanswered.pop(pending.run_id, None)
        self._changed.notify_all()

    def _take_answer(self, pending: Pending) -> None:
        self._take_back(pending)
        self._announced.discard(pending.run_id)
        self._owed_since_us = self._clock.monotonic_us()
        self._window = MOST_OPEN

    def _hold(self, seconds: float) -> None:
        self._window = 1
        self._held_until_us = max(self._held_until_us, self._after(seconds))

    def _put_back(self, pending: Pending) -> None:
        if not self._fails_too_often(pending):
            self._backlog.add(pending)

    def _fails_too_often(self, pending: Pending) -> bool:
        """Count a failure; a Run that fails again and again is postponed, and this says so."""
        failures = self._failures[pending.run_id] = self._failures.get(pending.run_id, 0) + 1
        if failures < MOST_FAILURES:
            return False
        self._backlog.postpone(pending, self._after(POSTPONE_SECONDS))
        return True

    def _after(self, seconds: float) -> int:
        return self._clock.monotonic_us() + int(seconds * _MICROSECONDS)

    def _withdraw(self, run_id: str) -> None:
        self._announcements = deque(due for due in self._announcements if due.announcement.run_id != run_id)

    def _wait(self) -> None:
        seconds = self._wait_seconds()
        self._sleeps = seconds is None or seconds > ANNOUNCE_AFTER_SECONDS
        self._changed.wait(seconds)
        self._sleeps = False

    def _wait_seconds(self) -> float | None:
        """Return how long nothing can change by itself; None is for ever."""
        now = self._clock.monotonic_us()
        due = [self._backlog.next_due_us(), self._held_until_us]
        due += [self._announcements[0].us] if self._announcements else []
        due += [self._after(ANNOUNCE_AFTER_SECONDS)] if now < self._attentive_until_us else []
        later = [us for us in due if us is not None and us > now]
        return (min(later) - now) / _MICROSECONDS if later else None

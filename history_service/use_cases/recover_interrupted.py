"""Fails the Runs that nobody will finish any more, so that none is listed as running for ever."""

import heapq
import logging
import threading
from collections import Counter
from collections.abc import Iterable

from history_service.domain.clock import Clock
from history_service.domain.errors import WriteFailed
from history_service.domain.run import INTERRUPTED
from history_service.store import runs
from history_service.store.database import Database
from history_service.use_cases.changes import Changes

logger = logging.getLogger(__name__)


def recover_interrupted(database: Database, now: Clock) -> int:
    """Fail every running Run; return how many. At start, before serving: whoever ran them is not connected."""
    now_us = now()
    return database.write(lambda db: runs.interrupt_runs(db, None, INTERRUPTED, now_us)).result()


class Abandonment:
    """Fails a Run once no recording stream has held it for the grace period."""

    def __init__(self, database: Database, changes: Changes, now: Clock, monotonic: Clock, grace_us: int) -> None:
        self._database = database
        self._changes = changes
        self._now = now
        self._monotonic = monotonic
        self._grace_us = grace_us
        self._condition = threading.Condition()
        self._held: Counter[str] = Counter()
        self._due: list[tuple[int, str]] = []
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="history-abandonment", daemon=True)
        self._thread.start()

    def hold(self, run_id: str) -> None:
        """Say that a stream has the Run."""
        with self._condition:
            self._held[run_id] += 1

    def let_go(self, run_ids: Iterable[str], finished: bool) -> None:
        """Say that a stream has the Runs no more.

        Those that it did not finish are failed after the grace period, unless a stream holds them then.
        """
        due = self._monotonic() + self._grace_us
        with self._condition:
            for run_id in run_ids:
                self._held[run_id] -= 1
                if self._held[run_id] <= 0:
                    del self._held[run_id]
                if not finished:
                    heapq.heappush(self._due, (due, run_id))
                    self._condition.notify()

    def close(self) -> None:
        """Stop; what is not due yet is for the next start."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join()

    def _watch(self) -> None:
        while (abandoned := self._next_abandoned()) is not None:
            if abandoned:
                self._fail(abandoned)

    def _fail(self, run_ids: list[str]) -> None:
        now_us = self._now()
        try:
            self._database.write(lambda db: runs.interrupt_runs(db, run_ids, INTERRUPTED, now_us)).result()
        except WriteFailed:
            logger.warning("could not fail %d abandoned Runs; the next start will", len(run_ids))
        self._changes.tell()

    def _next_abandoned(self) -> list[str] | None:
        """Wait for Runs that are due; return those that nobody holds, None when closed."""
        with self._condition:
            while not self._closed:
                now = self._monotonic()
                if self._due and self._due[0][0] <= now:
                    due = set()
                    while self._due and self._due[0][0] <= now:
                        due.add(heapq.heappop(self._due)[1])
                    return sorted(run_id for run_id in due if run_id not in self._held)
                self._condition.wait((self._due[0][0] - now) / 1_000_000 if self._due else None)
        return None

"""Keeps the newest Runs of each project."""

import logging
import threading
from dataclasses import dataclass

from history_service.domain.clock import Clock
from history_service.store import read_runs, removable_runs
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.changes import Changes
from history_service.use_cases.collect_garbage import CollectGarbage

logger = logging.getLogger(__name__)

RUNS_PER_STEP = 32
"""Runs deleted in one transaction.

Few, so that recording never waits for long, and as many as a ranker has under way, so that removal keeps up with it.
"""
PAUSE_SECONDS = 0.05
"""Between two looks, so that under load one look serves many Runs."""


@dataclass(frozen=True, slots=True)
class PruneHistory:
    """Deletes the unpinned terminal Runs beyond the `retain` newest of a project."""

    database: Database
    collect: CollectGarbage
    retain: int

    def project(self, project_id: str) -> int:
        """Prune one project and collect what only its Runs used; return how many Runs went."""
        count, hashes = 0, set[str]()
        while gone := self.database.write(lambda db: self._step(db, project_id)).result():
            count += len(gone)
            hashes.update(hash_ for hash_ in gone if hash_ is not None)
        if hashes:
            self.collect.manifests(hashes)
        return count

    def _step(self, db: Connection, project_id: str) -> list[str | None]:
        return removable_runs.delete_runs(db, removable_runs.beyond_newest(db, project_id, self.retain, RUNS_PER_STEP))


class Retention:
    """Prunes, in a thread of its own, each project whose Runs end, and from time to time collects everything."""

    def __init__(self, prune: PruneHistory, changes: Changes, monotonic: Clock, interval_us: int) -> None:
        """Begin, with every project; `interval_us` lies between full collections, and before the first."""
        self._prune = prune
        self._changes = changes
        self._monotonic = monotonic
        self._interval_us = interval_us
        self._next_full_us = monotonic() + interval_us
        self._position = 0
        self._due: set[str] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="history-retention", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; what is not done yet is for the next start."""
        self._closed.set()
        self._changes.tell()
        self._thread.join()

    def _keep(self) -> None:
        while not self._closed.is_set():
            seen = self._changes.count
            try:
                self._look()
            except Exception:
                logger.exception("history could not remove what it need not keep; it tries again after the next Run")
            self._changes.wait(seen, max(0, self._next_full_us - self._monotonic()) / 1_000_000)
            self._closed.wait(PAUSE_SECONDS)

    def _look(self) -> None:
        with self._prune.database.reading() as db:
            last = read_runs.last_change_sequence(db)
            self._due.update(removable_runs.changed_projects(db, self._position))
        self._position = last
        for project_id in sorted(self._due):
            if self._closed.is_set():
                return
            self._prune.project(project_id)
            self._due.discard(project_id)
        if self._monotonic() >= self._next_full_us:
            self._next_full_us = self._monotonic() + self._interval_us
            self._prune.collect.everything()

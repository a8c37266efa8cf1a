"""Records Runs: idempotent by run id and trace, wholly or not at all."""

from concurrent.futures import Future
from dataclasses import dataclass

from history_service.domain.errors import CorpusNotFound, RunConflict
from history_service.domain.run import RunStart, RunTrace
from history_service.store import corpora, runs
from history_service.store.awaited import AwaitedCorpora
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.changes import Changes


@dataclass(frozen=True, slots=True)
class RecordRun:
    """Writes the beginnings and the ends of Runs. Nothing here waits for the disk; the futures do."""

    database: Database
    changes: Changes
    awaited: AwaitedCorpora

    def begin(self, start: RunStart) -> "Future[None]":
        """Insert a Run as running; a Run that is known stays as it is."""
        future = self.database.write(lambda db: _begin(db, start))
        future.add_done_callback(lambda _done: self.changes.tell())
        return future

    def finish(self, trace: RunTrace) -> "Future[bool]":
        """Record a whole trace; the answer says whether it had been recorded before.

        The future raises RunConflict when the id has another trace, and CorpusNotFound when the trace names an
        Effective Memory that is not stored. A Run that was interrupted is healed.
        """
        future = self.database.write(lambda db: record_trace(db, trace))
        future.add_done_callback(lambda done: self._tell(trace, done))
        return future

    def _tell(self, trace: RunTrace, done: "Future[bool]") -> None:
        memory = trace.revisions.effective_memory_hash
        if memory is not None and done.exception() is None:
            self.awaited.arrived(memory)
        self.changes.tell()


def _begin(db: Connection, start: RunStart) -> None:
    if runs.find_run(db, start.run_id) is None:
        runs.insert_running(db, start)


def record_trace(db: Connection, trace: RunTrace) -> bool:
    """Record a whole trace inside a write; see `RecordRun.finish`."""
    start = trace.start
    stored = runs.find_run(db, start.run_id)
    if stored is not None and stored.trace_digest == trace.digest:
        return True
    if stored is not None and (stored.trace_digest is not None or stored.start != start):
        raise RunConflict(start.run_id)
    memory = trace.revisions.effective_memory_hash
    if memory is not None and not corpora.is_stored(db, memory, start.project_id):
        raise CorpusNotFound(memory)
    sequence = runs.insert_running(db, start) if stored is None else stored.sequence
    runs.finish_run(db, sequence, trace)
    return False

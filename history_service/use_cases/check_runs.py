"""Checks every Run: its candidates, its trace, and the memory that it names."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from history_service.domain.run import Candidate, RunState
from history_service.store import corpora, exported, inspected
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.store.inspected import InspectedRun
from ranktrail_serving.storage import EVENT_EVERY, Event, Problem, Progress

PHASE = "runs"
PAGE = 32
"""Runs read in one state of the database, so that none is held for long."""
CandidatesDigest = Callable[[Sequence[Candidate]], str]
"""Returns the digest of candidates as they travelled."""
UNREADABLE = (ValueError, TypeError, LookupError)
"""What values that are none of the store's own raise where they are read."""


@dataclass(frozen=True, slots=True)
class CheckRuns:
    """Computes every digest anew."""

    database: Database
    candidates_digest: CandidatesDigest

    def check(self) -> Iterator[Event]:
        """Yield what is wrong, and progress by Runs."""
        with self.database.reading() as db:
            total = inspected.count(db, "retrieval_runs")
        done, last, known = 0, 0, set[tuple[str, str]]()
        while True:
            with self.database.reading() as db:
                runs = inspected.runs_after(db, last, PAGE)
                problems = [problem for run in runs for problem in self._run(db, run, known)]
            yield from problems
            if not runs:
                break
            done, last = done + len(runs), runs[-1].sequence
            if done % EVENT_EVERY < PAGE:
                yield Progress(PHASE, min(done, total), total)
        yield Progress(PHASE, total, total)

    def _run(self, db: Connection, run: InspectedRun, known: set[tuple[str, str]]) -> Iterator[Problem]:
        subject = f"run {run.run_id}"
        if run.row_count != (run.candidate_count or 0):
            yield Problem("count", subject, f"it says {run.candidate_count or 0} candidates and has {run.row_count}")
        elif run.state != RunState.RUNNING.value and run.trace_digest is not None:
            yield from self._trace(db, run, subject)
        memory = run.effective_memory_hash
        if memory is None or (memory, run.project_id) in known:
            return
        if corpora.is_stored(db, memory, run.project_id):
            known.add((memory, run.project_id))
        else:
            yield Problem("manifest_missing", subject, f"the manifest {memory} of its memory is not there")

    def _trace(self, db: Connection, run: InspectedRun, subject: str) -> Iterator[Problem]:
        try:
            trace = exported.trace_of(db, run.sequence)
            found = self.candidates_digest(trace.candidates)
            is_own = trace.digest == run.trace_digest
        except UNREADABLE as error:
            yield Problem("row_unreadable", subject, f"its rows hold what no trace holds ({type(error).__name__})")
            return
        if run.candidates_digest and found != run.candidates_digest:
            yield Problem("candidates_digest", subject, "its candidates are not those that its ranker sent")
        if not is_own:
            yield Problem("trace_digest", subject, "it is not the trace that was recorded")

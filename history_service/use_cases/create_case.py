"""Pins a succeeded Run as an Evaluation Case."""

from collections.abc import Callable
from dataclasses import dataclass

from history_service.domain.case import EvaluationCase, JudgmentVersion
from history_service.domain.clock import Clock
from history_service.domain.errors import RunNotFound, RunNotSucceeded
from history_service.domain.run import Run, RunState
from history_service.store import cases, frozen_corpora, judgments, read_runs
from history_service.store.connection import Connection
from history_service.store.database import Database


@dataclass(frozen=True, slots=True)
class CreateCase:
    """Makes cases; a Run has at most one."""

    database: Database
    now: Clock
    new_case_id: Callable[[], str]

    def create(self, run_id: str, category: str, notes: str) -> tuple[EvaluationCase, bool]:
        """Pin the Run and freeze its corpus; return the case and whether the Run was pinned before.

        A Run that is pinned keeps its case as it is. Raise RunNotFound, RunNotSucceeded.
        """
        return self.database.write(lambda db: self._create(db, run_id, category, notes)).result()

    def _create(self, db: Connection, run_id: str, category: str, notes: str) -> tuple[EvaluationCase, bool]:
        run = read_runs.run_by_id(db, run_id)
        if run is None:
            raise RunNotFound(run_id)
        pinned = cases.case_of_run(db, run_id)
        if pinned is not None:
            return pinned, True
        memory = run.revisions.effective_memory_hash
        if run.state is not RunState.SUCCEEDED or memory is None:
            raise RunNotSucceeded(run_id, run.state.value)
        case = self._new_case(db, run, memory, category, notes)
        sequence = cases.insert_case(db, case, run.sequence)
        judgments.insert_version(db, sequence, JudgmentVersion(1, "", case.create_time_us, ()))
        return case, False

    def _new_case(self, db: Connection, run: Run, memory: str, category: str, notes: str) -> EvaluationCase:
        now_us = self.now()
        return EvaluationCase(
            case_id=self.new_case_id(),
            run_id=run.start.run_id,
            project_id=run.start.project_id,
            query=run.start.query,
            corpus_hash=memory,
            resource_count=frozen_corpora.freeze(db, memory, run.start.project_id, now_us),
            category=category,
            notes=notes,
            judgment_version=1,
            judgment_count=0,
            human_judged=False,
            create_time_us=now_us,
            judge_time_us=None,
            judgment_author="",
        )

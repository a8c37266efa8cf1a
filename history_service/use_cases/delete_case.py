"""Deletes an Evaluation Case."""

from dataclasses import dataclass

from history_service.domain.case import EvaluationCase
from history_service.domain.errors import CaseNotFound, JudgmentConflict
from history_service.store import cases, frozen_corpora
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.prune_history import PruneHistory


@dataclass(frozen=True, slots=True)
class DeleteCase:
    """Deletes cases; their Runs are then as mortal as others."""

    database: Database
    prune: PruneHistory

    def delete(self, case_id: str, expected_version: int) -> None:
        """Delete a case with every version of its judgments; raise CaseNotFound, JudgmentConflict."""
        case = self.database.write(lambda db: _delete(db, case_id, expected_version)).result()
        self.prune.project(case.project_id)


def conflict(case: EvaluationCase, expected_version: int) -> JudgmentConflict:
    """Return what to tell a caller who saw another version than the present one."""
    update_time_us = case.create_time_us if case.judge_time_us is None else case.judge_time_us
    return JudgmentConflict(case.case_id, expected_version, case.judgment_version, case.judgment_author, update_time_us)


def _delete(db: Connection, case_id: str, expected_version: int) -> EvaluationCase:
    stored = cases.case_by_id(db, case_id)
    if stored is None:
        raise CaseNotFound(case_id)
    if not cases.delete_case(db, case_id, expected_version):
        raise conflict(stored.case, expected_version)
    frozen_corpora.release(db, stored.case.corpus_hash)
    return stored.case

"""Evaluation Cases: reading and writing. What writes runs inside one write transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peewee import fn

from history_service.domain.case import EvaluationCase
from history_service.store.connection import Connection
from history_service.store.tables import CASE_COLUMNS, CASES, CORPORA, RUNS, written_out

Position = tuple[int, int]
"""(create_time_us, sequence) of the last case of a page."""
_CASES_AND_RUNS: Any = CASES.join(CORPORA, on=(CORPORA.corpus_hash == CASES.corpus_hash)).join(
    RUNS, on=(RUNS.sequence == CASES.run_sequence)
)
_COLUMNS = written_out(
    _CASES_AND_RUNS,
    [
        *(getattr(CASES, name) for name in ("sequence", "run_sequence", *CASE_COLUMNS)),
        CORPORA.resource_count,
        RUNS.run_id,
    ],
)
_IDS_PER_QUERY = 500
"""Values of one IN list; below every limit on variables that SQLite is built with."""


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case and the keys of its rows: the sequences of the case and of the Run that it pins."""

    sequence: int
    run_sequence: int
    case: EvaluationCase


def case_of_run(db: Connection, run_id: str) -> EvaluationCase | None:
    """Return the case that pins the Run."""
    found = _stored(db, _select().where(RUNS.run_id == run_id))
    return found[0].case if found else None


def case_by_id(db: Connection, case_id: str) -> StoredCase | None:
    """Return the case of this id."""
    found = _stored(db, _select().where(CASES.case_id == case_id))
    return found[0] if found else None


def page_of_cases(
    db: Connection, project_id: str | None, category: str | None, after: Position | None, limit: int
) -> list[StoredCase]:
    """Return at most `limit` cases, newest first (by create time, then arrival), that follow the position `after`."""
    query = _select().order_by(CASES.create_time_us.desc(), CASES.sequence.desc()).limit(limit)
    if project_id is not None:
        query = query.where(CASES.project_id == project_id)
    if category is not None:
        query = query.where(CASES.category == category)
    if after is not None:
        time_us, sequence = after
        # The first condition bounds the index range; the second leaves out what the page before held of that time.
        query = query.where(CASES.create_time_us <= time_us)
        query = query.where((CASES.create_time_us < time_us) | (CASES.sequence < sequence))
    return _stored(db, query)


def all_cases(db: Connection, project_id: str | None) -> list[StoredCase]:
    """Return all cases, of one project or of all, those of one corpus together."""
    query = _select().order_by(CASES.corpus_hash, CASES.sequence)
    return _stored(db, query if project_id is None else query.where(CASES.project_id == project_id))


def cases_by_id(db: Connection, case_ids: Sequence[str]) -> list[StoredCase]:
    """Return those of the cases that there are, those of one corpus together."""
    found: list[StoredCase] = []
    for start in range(0, len(case_ids), _IDS_PER_QUERY):
        found += _stored(db, _select().where(CASES.case_id.in_(case_ids[start : start + _IDS_PER_QUERY])))
    return sorted(found, key=lambda stored: (stored.case.corpus_hash, stored.sequence))


def insert_case(db: Connection, case: EvaluationCase, run_sequence: int) -> int:
    """Insert a case whose corpus is frozen, pinning its Run; return its sequence."""
    values = {name: getattr(case, name) for name in CASE_COLUMNS}
    return int(CASES.insert({**values, "run_sequence": run_sequence}).execute(db))


def raise_version(db: Connection, case: EvaluationCase, expected: int) -> bool:
    """Set what a case says of its present judgments, if its version is the expected one; return whether it was."""
    changes = ("judgment_version", "judgment_count", "human_judged", "judge_time_us", "judgment_author")
    query = CASES.update({getattr(CASES, name): getattr(case, name) for name in changes})
    return bool(query.where(_at_version(case.case_id, expected)).execute(db))


def delete_case(db: Connection, case_id: str, expected: int) -> bool:
    """Delete a case with its judgments, if its version is the expected one; return whether it was."""
    return bool(CASES.delete().where(_at_version(case_id, expected)).execute(db))


def count_cases(db: Connection) -> int:
    """Return how many cases there are."""
    ((count,),) = CASES.select(fn.COUNT(CASES.sequence)).tuples().execute(db)
    return int(count)


def _at_version(case_id: str, version: int) -> Any:
    return (CASES.case_id == case_id) & (CASES.judgment_version == version)


def _select() -> Any:
    return _CASES_AND_RUNS.select(_COLUMNS)


def _stored(db: Connection, query: Any) -> list[StoredCase]:
    return [StoredCase(row[0], row[1], _case(row[2:])) for row in query.tuples().execute(db)]


def _case(row: Sequence[Any]) -> EvaluationCase:
    values = dict(zip((*CASE_COLUMNS, "resource_count", "run_id"), row, strict=True))
    return EvaluationCase(**values | {"human_judged": bool(values["human_judged"])})

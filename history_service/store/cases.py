"""Evaluation Cases and their judgments: reading."""

from peewee import fn

from history_service.domain.case import EvaluationCase, Judgment
from history_service.store.connection import Connection
from history_service.store.tables import CASE_COLUMNS, CASES, CORPORA, JUDGMENT_COLUMNS, JUDGMENTS, RUNS


def case_of_run(db: Connection, run_id: str) -> EvaluationCase | None:
    """Return the case that pins the Run."""
    source = CASES.join(CORPORA, on=(CORPORA.corpus_hash == CASES.corpus_hash))
    source = source.join(RUNS, on=(RUNS.sequence == CASES.run_sequence))
    columns = [getattr(CASES, name) for name in CASE_COLUMNS]
    query = source.select(*columns, CORPORA.resource_count).where(RUNS.run_id == run_id)
    row = next(iter(query.tuples().execute(db)), None)
    if row is None:
        return None
    values = dict(zip((*CASE_COLUMNS, "resource_count"), row, strict=True))
    values["human_judged"] = bool(values["human_judged"])
    return EvaluationCase(run_id=run_id, **values)


def present_judgments(db: Connection, case: EvaluationCase) -> list[Judgment]:
    """Return the judgments of a case's present version, by resource_id and unit_key, resource-level ones first."""
    source = JUDGMENTS.join(CASES, on=(CASES.sequence == JUDGMENTS.case_sequence))
    query = source.select(*(getattr(JUDGMENTS, name) for name in JUDGMENT_COLUMNS)).where(
        CASES.case_id == case.case_id,
        JUDGMENTS.judgment_version == case.judgment_version,
        JUDGMENTS.position > 0,
    )
    ordered = query.order_by(JUDGMENTS.resource_id, JUDGMENTS.unit_key)
    rows = ordered.tuples().execute(db)
    return [Judgment(id_, key, grade, bool(missed), notes, source) for id_, key, grade, missed, notes, source in rows]


def count_cases(db: Connection) -> int:
    """Return how many cases there are."""
    ((count,),) = CASES.select(fn.COUNT(CASES.sequence)).tuples().execute(db)
    return int(count)

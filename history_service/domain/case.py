"""Evaluation Cases: a query and a frozen corpus, pinned from one Run, and what people judged of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvaluationCase:
    """A case as it is now."""

    case_id: str
    run_id: str
    project_id: str
    query: str
    corpus_hash: str
    resource_count: int
    category: str
    notes: str
    judgment_version: int
    judgment_count: int
    human_judged: bool
    create_time_us: int
    judge_time_us: int | None
    judgment_author: str


@dataclass(frozen=True, slots=True)
class Judgment:
    """How relevant one unit, or without `unit_key` one resource, is. `source` is human, import or model."""

    resource_id: str
    unit_key: str | None
    relevance: int
    missed: bool
    notes: str
    source: str

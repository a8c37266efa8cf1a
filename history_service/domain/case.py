"""Evaluation Cases: a query and a frozen corpus, pinned from one Run, and what people judged of it."""

from collections.abc import Iterable
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


@dataclass(frozen=True, slots=True)
class JudgmentVersion:
    """One version of a case's judgments; version 1 is the empty set of no author that a case begins with."""

    judgment_version: int
    author: str
    judge_time_us: int
    judgments: tuple[Judgment, ...]


def in_order(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Return judgments by resource_id and unit_key, the one of the whole resource before those of its units."""
    return sorted(judgments, key=lambda one: (one.resource_id, one.unit_key is not None, one.unit_key or ""))

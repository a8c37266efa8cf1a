"""Traces and frozen cases of which a test spells out only what it is about."""

from collections.abc import Iterable, Sequence
from typing import Any

from ranktrail_evals.replay.fixture import FrozenCase, Judgment
from ranktrail_evals.replay.trace import REVISIONS, RankedUnit, Trace

STAGES = frozenset({"exact", "bm25", "vector", "rrf", "rerank", "selection"})


def a_unit(key: str, rank: int | None = None, **fields: Any) -> RankedUnit:
    """Return a unit `resource#name` at one rank in every stage, selected unless an exclusion_reason is given."""
    ranks = dict.fromkeys(("bm25_rank", "dense_rank", "rrf_rank", "reranker_rank", "final_rank"), rank)
    made: dict[str, Any] = {
        "unit_key": key,
        "resource_id": key.partition("#")[0],
        "unit_digest": f"digest of {key}",
        "start_byte": 0,
        "exact_rank": None,
        **ranks,
        "selected": "exclusion_reason" not in fields,
        "exclusion_reason": None,
    }
    return RankedUnit(**(made | fields))


def a_trace(*units: RankedUnit, stages: Iterable[str] = STAGES, failure: str | None = None, **revisions: str) -> Trace:
    known = dict.fromkeys((*REVISIONS, "profile", "profile_digest"), "1")
    return Trace(units, frozenset(stages), known | revisions, failure)


def a_judgment(name: str, relevance: int = 1) -> Judgment:
    """Return a judgment of a unit, or of a whole resource where the name has no #."""
    resource_id = name.partition("#")[0]
    return Judgment(resource_id=resource_id, unit_key=name if "#" in name else None, relevance=relevance)


def a_frozen_case(trace: Trace, judgments: Sequence[Judgment], case_id: str = "c1") -> FrozenCase:
    return FrozenCase(case_id, f"run of {case_id}", "which?", tuple(judgments), trace)

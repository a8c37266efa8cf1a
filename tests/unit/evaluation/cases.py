"""Judged cases for tests: a test spells out only what it is about.

A unit is written `A#1`: unit 1 of resource A. A judgment of `A#1` is of that unit, one of `A` of the whole resource.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from history_service.domain.case import Judgment
from history_service.evaluation.case_measures import measure_case
from history_service.evaluation.fused_set import RankedUnit
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.results import MeasureValue


def a_unit(unit_key: str = "A#1", **changes: Any) -> RankedUnit:
    """A unit that no stage ranked and that was not returned."""
    resource_id = unit_key.partition("#")[0]
    values: dict[str, Any] = dict.fromkeys(RankedUnit._fields) | {
        "unit_key": unit_key,
        "resource_id": resource_id,
        "resource_digest": f"digest of {resource_id}",
        "selected": 0,
        "exclusion_reason": "token_budget",
    }
    return RankedUnit(**(values | changes))


def ranked(*unit_keys: str) -> list[RankedUnit]:
    """Units in an order that every stage but identity agrees on."""
    columns = ("bm25_rank", "lexical_rank", "dense_rank", "rrf_rank", "reranker_rank", "final_rank")
    return [a_unit(key, **dict.fromkeys(columns, rank)) for rank, key in enumerate(unit_keys, start=1)]


def a_judgment(of: str, relevance: int = 1, source: str = "human") -> Judgment:
    """A judgment of a unit or of a resource."""
    resource_id, separator, _ = of.partition("#")
    return Judgment(resource_id, of if separator else None, relevance, missed=False, notes="", source=source)


def a_case(
    units: Iterable[RankedUnit] = (),
    judgments: Mapping[str, int] | Iterable[Judgment] = (),
    case_id: str = "case-1",
    **changes: Any,
) -> JudgedCase:
    """A case of a warm Run without latencies, whose corpus is what its units say it is."""
    units = list(units)
    if isinstance(judgments, Mapping):
        judgments = [a_judgment(of, relevance) for of, relevance in judgments.items()]
    values: dict[str, Any] = {
        "judgment_version": 2,
        "corpus": {unit.resource_id: unit.resource_digest for unit in units},
        "stage_latencies": (),
        "cold": False,
    }
    return JudgedCase(case_id=case_id, units=units, judgments=list(judgments), **(values | changes))


def measured(case: JudgedCase, variant: str = "b3_hybrid_rrf") -> dict[str, MeasureValue]:
    """The measures of one variant of a case, by name."""
    (found,) = [report for report in measure_case(case).variants if report.variant == variant]
    return {value.measure: value for value in found.measures}


def values(case: JudgedCase, variant: str = "b3_hybrid_rrf") -> dict[str, float | None]:
    """The values of those measures."""
    return {name: value.value for name, value in measured(case, variant).items()}

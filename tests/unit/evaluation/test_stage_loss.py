"""The funnel of relevant judgments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from history_service.domain.case import Judgment
from history_service.evaluation.case_measures import measure_case
from history_service.evaluation.fused_set import FusedSet, RankedUnit
from history_service.evaluation.matching import Matching
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.results import StageLoss
from history_service.evaluation.stage_loss import fates
from history_service.evaluation.variants import VARIANTS
from tests.unit.evaluation.cases import a_case, a_judgment, a_unit

UNITS = [
    a_unit("A#1", lexical_rank=1, dense_rank=1, reranker_rank=1, final_rank=1, selected=1, exclusion_reason=None),
    a_unit("B#1", dense_rank=2, reranker_rank=2, final_rank=2, exclusion_reason="overlap"),
    a_unit("C#1", lexical_rank=2, final_rank=3, exclusion_reason="not_reranked"),
    a_unit("B#2", lexical_rank=3, final_rank=4, exclusion_reason="not_reranked"),
]


def _fate(units: list[RankedUnit], *judgments: Judgment) -> list[str]:
    fused = FusedSet.of(units)
    return [fate.fate for fate in fates(fused, judgments, Matching(fused, judgments))]


def test_every_relevant_judgment_is_returned_or_lost_for_one_cause() -> None:
    case = a_case(UNITS, {"A#1": 3, "B": 2, "C": 1, "D": 3, "E": 0})
    assert measure_case(case).stage_loss == StageLoss(
        relevant_count=4,
        lexical_recalled_count=3,
        dense_recalled_count=2,
        fused_count=3,
        reranked_count=2,
        returned_count=1,
        lost_counts={"not_recalled": 1, "not_reranked": 1, "overlap": 1},
    )


def test_of_the_units_of_a_resource_the_one_that_came_furthest_decides() -> None:
    lost = a_unit("A#2", final_rank=1, exclusion_reason="per_resource_limit")
    returned = a_unit("A#1", final_rank=9, selected=1, exclusion_reason=None)
    assert _fate([lost, returned], a_judgment("A")) == ["returned"]
    assert _fate([UNITS[3], UNITS[1]], a_judgment("B")) == ["overlap"]


def test_a_unit_with_its_own_judgment_does_not_stand_for_its_resource() -> None:
    assert _fate(UNITS[:1], a_judgment("A#1"), a_judgment("A")) == ["returned", "not_recalled"]
    assert _fate(UNITS[:1], a_judgment("A#1", 0), a_judgment("A")) == ["not_recalled"]


def test_the_set_adds_up_its_cases() -> None:
    cases = [a_case(UNITS, {"A": 1, "D": 1}, case_id="1"), a_case(UNITS, {"B": 1, "D": 1}, case_id="2")]
    assert benchmark_report(cases, with_comparisons=False).stage_loss == StageLoss(
        4, 2, 2, 2, 2, 1, {"not_recalled": 2, "overlap": 1}
    )
    assert benchmark_report([], with_comparisons=False).stage_loss == StageLoss(0, 0, 0, 0, 0, 0, {})


RANK = st.none() | st.integers(1, 9)
UNIT_KEYS = [f"{resource}#{unit}" for resource in "ABCD" for unit in "12"]
SETS = st.dictionaries(st.sampled_from(UNIT_KEYS), st.tuples(RANK, RANK, RANK), max_size=8)
JUDGMENTS = st.dictionaries(st.sampled_from([*UNIT_KEYS, *"ABCDE"]), st.integers(0, 3), max_size=8)


@settings(deadline=None)
@given(SETS, JUDGMENTS)
def test_the_funnel_agrees_with_the_rankings(
    found: dict[str, tuple[int | None, int | None, int | None]], judgments: dict[str, int]
) -> None:
    units = [
        a_unit(key, bm25_rank=lexical, lexical_rank=lexical, dense_rank=dense, rrf_rank=1, reranker_rank=reranked)
        for key, (lexical, dense, reranked) in found.items()
    ]
    loss = measure_case(a_case(units, judgments)).stage_loss
    fused = FusedSet.of(units)
    matching = Matching(fused, [a_judgment(of, relevance) for of, relevance in judgments.items()])
    held = [sum(map(bool, matching.relevances(variant.order(fused)))) for variant in VARIANTS]
    assert held == [loss.lexical_recalled_count, loss.dense_recalled_count, loss.fused_count, loss.reranked_count]
    assert loss.relevant_count == sum(map(bool, judgments.values()))
    assert loss.relevant_count == loss.returned_count + sum(loss.lost_counts.values())
    assert loss.relevant_count - loss.fused_count == loss.lost_counts.get("not_recalled", 0)

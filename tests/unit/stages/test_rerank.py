"""Reranking: scores, order, calibration, and what ends the Run."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.profile import RerankSettings
from ranker_service.domain.ranking import Fused, ModelScore
from ranker_service.domain.trace import Stage
from ranker_service.stages import rerank
from tests.builders import a_profile

LATE = a_profile(rerank={"rrf_weight": 20.0, "relevance_midpoint": 0.5, "relevance_slope": 10.0}).rerank
CROSS = a_profile(rerank={"method": "cross_encoder", "relevance_midpoint": 0.0, "relevance_slope": 1.0}).rerank


def _fused(*scores: float) -> list[Fused]:
    return [Fused(row, score) for row, score in enumerate(scores)]


def _model(*scores: float) -> list[ModelScore]:
    return [ModelScore(score, truncated=False) for score in scores]


def test_late_interaction_adds_the_weighted_rrf_score_and_calibrates_the_model_part_alone() -> None:
    (unit,) = rerank.rank(_fused(0.03), _model(0.4), LATE)
    assert unit.score == pytest.approx(0.4 + 20 * 0.03)
    assert unit.model_score == 0.4
    assert unit.relevance == pytest.approx(1 / (1 + math.exp(-10 * (0.4 - 0.5))))


def test_a_cross_encoder_is_ordered_by_its_logit_alone() -> None:
    first, second = rerank.rank(_fused(0.03, 0.01), _model(-2.0, 1.0), CROSS)
    assert (first.row, second.row) == (1, 0)
    assert (first.score, first.model_score) == (1.0, None)
    assert first.relevance == pytest.approx(1 / (1 + math.exp(-1.0)))


@pytest.mark.parametrize("logits", [(6.5, 8.0, 10.0), (17.0, 18.0, 20.0), (37.0, 38.0, 40.0), (700.0, 800.0, 9e9)])
def test_order_is_that_of_the_logits_even_where_a_sigmoid_saturates(logits: tuple[float, ...]) -> None:
    reranked = rerank.rank(_fused(0.03, 0.02, 0.01), _model(*logits), CROSS)
    assert [unit.row for unit in reranked] == [2, 1, 0]
    assert [unit.score for unit in reranked] == sorted(logits, reverse=True)
    assert all(0.0 <= unit.relevance <= 1.0 for unit in reranked)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("settings", [LATE, CROSS])
def test_a_score_that_is_not_finite_ends_the_run_wherever_it_stands(
    wrong: float, place: int, settings: RerankSettings
) -> None:
    scores = [0.9, 0.8, 0.5, 0.99, 0.1]
    scores[place] = wrong
    with pytest.raises(StageFailed) as failed:
        rerank.rank(_fused(0.05, 0.04, 0.03, 0.02, 0.01), _model(*scores), settings)
    assert (failed.value.stage, failed.value.code) == (Stage.RERANK, "non_finite_score")


@pytest.mark.parametrize("scores", [(), (1.0,), (1.0, 2.0, 3.0)])
def test_another_number_of_scores_ends_the_run(scores: tuple[float, ...]) -> None:
    with pytest.raises(StageFailed) as failed:
        rerank.rank(_fused(0.02, 0.01), _model(*scores), LATE)
    assert (failed.value.stage, failed.value.code) == (Stage.RERANK, "score_count_mismatch")


def test_equal_scores_are_ordered_by_rrf_and_then_by_row() -> None:
    head = [Fused(5, 0.02), Fused(9, 0.03), Fused(2, 0.02)]
    reranked = rerank.rank(head, _model(1.0, 1.0 + 1e-14, 1.0), CROSS)
    assert [unit.row for unit in reranked] == [9, 2, 5]


def test_what_the_model_did_not_see_whole_is_said() -> None:
    (unit,) = rerank.rank(_fused(0.1), [ModelScore(0.5, truncated=True)], CROSS)
    assert unit.truncated


def test_units_past_the_depth_follow_in_fused_order() -> None:
    fused = _fused(0.05, 0.04, 0.03, 0.02)
    reranked = rerank.rank(fused[:2], _model(0.1, 5.0), CROSS)
    assert rerank.final_order(fused, reranked) == (1, 0, 2, 3)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0.001, 1_000), st.floats(-100, 100))
def test_relevance_never_overflows_and_stays_between_zero_and_one(score: float, slope: float, midpoint: float) -> None:
    settings = a_profile(rerank={"relevance_slope": slope, "relevance_midpoint": midpoint}).rerank
    assert 0.0 <= rerank.relevance(score, settings) <= 1.0
    assert rerank.relevance(midpoint, settings) == 0.5


@pytest.mark.parametrize(
    ("section", "missing", "expected"),
    [
        ({}, "", ""),
        ({"method": "none"}, "", "the profile does not rerank"),
        ({"depth": 0}, "", "the profile does not rerank"),
        ({}, "too many units", "too many units"),
        ({"method": "cross_encoder"}, "too many units", ""),
    ],
)
def test_a_run_that_is_not_reranked_has_a_reason(section: dict[str, object], missing: str, expected: str) -> None:
    assert rerank.why_not(a_profile(rerank=section).rerank, missing) == expected

"""Comparisons of variants over the cases of a report."""

import pytest

from history_service.evaluation.comparison import compare
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.measures import ndcg, recall, reciprocal_rank
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.results import BenchmarkReport, VariantComparison
from tests.unit.evaluation.cases import a_case, a_unit, values

FAMILY = 3 * 2
"""Comparisons that differ where only dense wins: it with each of the three others, on nDCG@10 and RR."""


def _case(number: int, bm25: int, dense: int, judgments: dict[str, int] | None = None) -> JudgedCase:
    """A case in which the one relevant resource has these ranks, and the others do not tell variants apart."""
    relevant = a_unit("A#1", bm25_rank=bm25, dense_rank=dense, rrf_rank=2, reranker_rank=2)
    other = a_unit("X#1", bm25_rank=3 - bm25, dense_rank=3 - dense, rrf_rank=1, reranker_rank=1)
    return a_case([relevant, other], {"A": 1} if judgments is None else judgments, case_id=f"case-{number:03d}")


def _report(wins: int, ties: int = 0, losses: int = 0, undefined: int = 0) -> BenchmarkReport:
    """A report in which dense beats BM25 in so many cases."""
    ranks = [(2, 1)] * wins + [(2, 2)] * ties + [(1, 2)] * losses
    cases = [_case(number, bm25, dense) for number, (bm25, dense) in enumerate(ranks)]
    cases += [_case(900 + number, 2, 1, judgments={"A": 0}) for number in range(undefined)]
    return benchmark_report(cases)


def _dense_over_bm25(report: BenchmarkReport, measure: str = "RR") -> VariantComparison:
    wanted = ("b2_dense_vector", "b1_bm25", measure)
    (found,) = [c for c in report.comparisons if (c.variant, c.baseline, c.measure) == wanted]
    return found


def test_each_variant_is_compared_with_each_before_it_on_each_relevance_measure() -> None:
    comparisons = _report(wins=1).comparisons
    pairs = {(comparison.variant[:2], comparison.baseline[:2]) for comparison in comparisons}
    assert pairs == {("b2", "b1"), ("b3", "b1"), ("b4", "b1"), ("b3", "b2"), ("b4", "b2"), ("b4", "b3")}
    assert {c.measure for c in comparisons} == {recall.NAME, ndcg.NAME, reciprocal_rank.NAME}
    assert len(comparisons) == 6 * 3


def test_wins_ties_and_losses_are_those_of_the_cases_that_have_the_measure() -> None:
    found = _dense_over_bm25(_report(wins=4, ties=3, losses=1, undefined=5))
    assert (found.wins, found.ties, found.losses) == (4, 3, 1)
    assert found.mean_difference == pytest.approx((4 * 0.5 - 1 * 0.5) / 8)


def test_too_few_non_tied_cases_are_said_instead_of_a_verdict() -> None:
    found = _dense_over_bm25(_report(wins=5, ties=40))
    assert found.p_value is None
    assert found.verdict == "Too few non-tied cases to reach 0.05: 5."


def test_a_family_may_be_too_large_for_cases_that_would_do_alone() -> None:
    found = _dense_over_bm25(_report(wins=7))
    assert 2 / 2**7 < 0.05 < FAMILY * 2 / 2**7
    assert found.p_value is None
    assert "Too few non-tied cases" in found.verdict


def test_a_clear_difference_is_a_verdict_with_its_corrected_p() -> None:
    found = _dense_over_bm25(_report(wins=12))
    assert found.p_value == pytest.approx(FAMILY * 2 / 2**12)
    assert found.verdict == f"b2_dense_vector is better than b1_bm25 on RR (p = {found.p_value:.4f})."
    assert (found.interval_low, found.interval_high) == (0.5, 0.5)


def test_a_loss_is_called_worse() -> None:
    assert "b2_dense_vector is worse than b1_bm25 on RR" in _dense_over_bm25(_report(wins=0, losses=12)).verdict


def test_a_mixed_result_shows_no_difference() -> None:
    found = _dense_over_bm25(_report(wins=10, losses=10))
    assert found.p_value == 1.0
    assert found.verdict == "No difference between b2_dense_vector and b1_bm25 on RR is shown (p = 1.0000)."
    assert found.interval_low is not None
    assert found.interval_high is not None
    assert found.interval_low < 0 < found.interval_high


@pytest.mark.parametrize("undefined", [0, 3])
def test_without_cases_that_have_the_measure_there_is_nothing_to_compare(undefined: int) -> None:
    for found in _report(wins=0, undefined=undefined).comparisons:
        assert (found.mean_difference, found.interval_low, found.interval_high, found.p_value) == (None,) * 4
        assert (found.wins, found.ties, found.losses) == (0, 0, 0)
        assert found.verdict == f"No case has {found.measure}."


def test_one_case_has_a_difference_and_no_interval() -> None:
    found = _dense_over_bm25(_report(wins=1))
    assert (found.mean_difference, found.interval_low, found.interval_high, found.wins) == (0.5, None, None, 1)


def test_sums_that_are_equal_and_differ_in_their_last_place_only_are_ties() -> None:
    # 1 + 1 / 2 + 3 / log2(9) = 1 / log2(3) + 3 / 2 + 1 / log2(9), since log2(9) is twice log2(3).
    ranks = {"A#1": (1, 2), "B#1": (3, 8), "C#1": (8, 3)}
    others = {f"X#{rank}": (rank, None) for rank in (2, 4, 5, 6, 7)} | {f"Y#{n}": (None, n) for n in (1, 4, 5, 6, 7)}
    units = [a_unit(key, bm25_rank=bm25, dense_rank=dense) for key, (bm25, dense) in (ranks | others).items()]
    case = a_case(units, {"A": 1, "B": 1, "C": 2})
    assert values(case, "b1_bm25")["nDCG@10"] != values(case, "b2_dense_vector")["nDCG@10"]
    found = _dense_over_bm25(benchmark_report([case]), ndcg.NAME)
    assert (found.wins, found.ties, found.losses, found.mean_difference) == (0, 1, 0, 0.0)


def test_the_comparisons_do_not_depend_on_the_order_in_which_cases_are_read() -> None:
    cases = [_case(number, 1 + number % 2, 1 + number % 3 % 2) for number in range(20)]
    report = benchmark_report(cases)
    assert benchmark_report(reversed(cases)) == report
    assert compare(report.cases) == report.comparisons

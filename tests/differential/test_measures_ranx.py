"""nDCG@10 beside ranx, whose `ndcg_burges` has the gain 2^relevance - 1."""

from collections.abc import Sequence
from statistics import fmean

import pytest
import ranx
from hypothesis import given, settings

from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.variants import VARIANTS, Variant
from tests.unit.evaluation.made_cases import CASE_SETS, is_defined, qrels, run

NDCG = "ndcg_burges@10"


def _by_ranx(cases: Sequence[JudgedCase], variant: Variant) -> dict[str, float]:
    """The peer's values of the cases where there is something relevant; an empty ranking is worth 0 to it."""
    defined = [case for case in cases if is_defined(case)]
    runs = {case.case_id: run(case, variant) for case in defined}
    ranked = [case for case in defined if runs[case.case_id]]
    values = dict.fromkeys(runs, 0.0)
    if ranked:
        rankings = {case.case_id: runs[case.case_id] for case in ranked}
        # Asked for one measure without its mean, ranx raises KeyError; asked twice for it, it answers.
        found = ranx.evaluate(qrels(ranked), rankings, [NDCG, NDCG], return_mean=False)[NDCG]
        values |= dict(zip(rankings, map(float, found), strict=True))
    return values


@settings(max_examples=150, deadline=None)
@given(CASE_SETS)
def test_every_case_and_the_mean_is_that_of_ranx(cases: list[JudgedCase]) -> None:
    report = benchmark_report(cases, with_comparisons=False)
    for place, variant in enumerate(VARIANTS):
        expected = _by_ranx(cases, variant)
        found = {case.case_id: case.variants[place].measures[1].value for case in report.cases}
        defined = {case_id: value for case_id, value in found.items() if value is not None}
        assert defined == pytest.approx(expected, abs=1e-9)
        mean = report.variants[place].measures[1]
        assert (mean.measure, mean.scored, mean.total) == ("nDCG@10", len(expected), len(cases))
        assert mean.mean == (pytest.approx(fmean(expected.values()), abs=1e-9) if expected else None)

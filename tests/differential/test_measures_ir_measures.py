"""The measures beside ir_measures, on rankings named as TREC files name them."""

from collections.abc import Sequence
from itertools import product

import ir_measures
import pytest
from hypothesis import given, settings
from ir_measures import RR, Judged, R

from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.results import BenchmarkReport
from history_service.evaluation.variants import VARIANTS
from tests.unit.evaluation.made_cases import CASE_SETS, is_defined, qrels, run

PEERS = {"R@20": R @ 20, "RR": RR, "Judged@10": Judged @ 10}


def _reported(report: BenchmarkReport, place: int, measure: str) -> dict[str, float]:
    """The values of one variant, by case; undefined ones left out."""
    found = {}
    for case in report.cases:
        (value,) = [value.value for value in case.variants[place].measures if value.measure == measure]
        if value is not None:
            found[case.case_id] = value
    return found


def _check(cases: Sequence[JudgedCase], report: BenchmarkReport, place: int, measure: str) -> None:
    # A query without judgments is none to the peer; one without relevant ones has Judged@10 and no other measure.
    scored = [case for case in cases if (case.judgments if measure == "Judged@10" else is_defined(case))]
    rankings = {case.case_id: run(case, VARIANTS[place]) for case in scored}
    # A TREC file has no line for a query whose ranking is empty.
    lines = {case_id: ranking for case_id, ranking in rankings.items() if ranking}
    means, metrics = ir_measures.calc([PEERS[measure]], qrels(scored), lines)
    values = {metric.query_id: metric.value for metric in metrics}
    assert _reported(report, place, measure) == pytest.approx(values, abs=1e-9)
    (mean,) = [mean for mean in report.variants[place].measures if mean.measure == measure]
    assert (mean.scored, mean.total) == (len(scored), len(cases))
    assert mean.mean == (pytest.approx(means[PEERS[measure]], abs=1e-9) if scored else None)


@settings(max_examples=150, deadline=None)
@given(CASE_SETS)
def test_every_case_and_every_mean_is_that_of_ir_measures(cases: list[JudgedCase]) -> None:
    report = benchmark_report(cases, with_comparisons=False)
    for place, measure in product(range(len(VARIANTS)), PEERS):
        _check(cases, report, place, measure)

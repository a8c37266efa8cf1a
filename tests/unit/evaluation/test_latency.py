"""Percentiles of the time that variants take in warm Runs."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.domain.run import StageLatency
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.latency import nearest_rank, warm_duration
from history_service.evaluation.report import benchmark_report
from history_service.evaluation.variants import VARIANTS
from tests.unit.evaluation.cases import a_case

# Powers of two, so that a sum says which stages are in it.
STAGES = {
    "activation_state": 1,
    "effective_memory": 2,
    "index_ensure": 4,
    "exact": 8,
    "bm25": 16,
    "embedding": 32,
    "vector": 64,
    "rrf": 128,
    "rerank": 256,
    "selection": 512,
    "recording": 1024,
}


def _run(case_id: str = "case-1", cold: bool | None = False, factor: int = 1, without: str = "") -> JudgedCase:
    latencies = [StageLatency(stage, time * factor) for stage, time in STAGES.items() if stage != without]
    return a_case(case_id=case_id, cold=cold, stage_latencies=latencies)


def _durations(case: JudgedCase) -> list[int | None]:
    return [warm_duration(case, variant) for variant in VARIANTS]


def test_each_variant_sums_the_stages_that_it_takes() -> None:
    assert _durations(_run()) == [
        2 + 4 + 8 + 16,
        2 + 4 + 32 + 64,
        2 + 4 + 8 + 16 + 32 + 64 + 128,
        1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256,
    ]


@pytest.mark.parametrize("cold", [True, None])
def test_a_run_that_is_not_known_to_be_warm_has_no_duration(cold: bool | None) -> None:
    assert _durations(_run(cold=cold)) == [None] * 4


def test_a_variant_whose_deciding_stage_did_not_run_has_no_duration_instead_of_a_short_one() -> None:
    assert [value is None for value in _durations(_run(without="rerank"))] == [False, False, False, True]
    assert [value is None for value in _durations(_run(without="bm25"))] == [True, False, False, False]
    assert _durations(a_case()) == [None] * 4


def test_a_stage_that_the_profile_leaves_out_takes_no_time() -> None:
    assert _durations(_run(without="exact"))[0] == 2 + 4 + 16


def test_the_report_leaves_cold_runs_out_and_has_no_percentile_without_warm_ones() -> None:
    cold = _run("cold", cold=True, factor=1_000)
    (first, *_) = benchmark_report([_run("a"), _run("b", factor=3), cold], with_comparisons=False).variants
    assert (first.p50_us, first.p95_us) == (30, 90)
    (first, *_) = benchmark_report([cold], with_comparisons=False).variants
    assert (first.p50_us, first.p95_us) == (None, None)


def test_the_percentile_is_a_value_that_was_measured() -> None:
    twenty = [number * 10 for number in range(20, 0, -1)]
    assert (nearest_rank(twenty, 50), nearest_rank(twenty, 95)) == (100, 190)
    assert (nearest_rank(twenty[:1], 50), nearest_rank(twenty[:1], 95)) == (200, 200)
    assert (nearest_rank([1, 2, 3], 50), nearest_rank([1, 2, 3], 95)) == (2, 3)
    assert nearest_rank([], 50) is None


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.integers(1, 100))
def test_the_percentile_is_the_smallest_that_so_many_do_not_exceed(durations: list[int], percent: int) -> None:
    share = Fraction(percent, 100)
    reached = [
        value for value in durations if Fraction(sum(other <= value for other in durations), len(durations)) >= share
    ]
    assert nearest_rank(durations, percent) == min(reached)

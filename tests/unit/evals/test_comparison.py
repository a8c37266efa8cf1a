"""A candidate against a baseline: what is not the same thing is refused, the rest is counted pair by pair."""

import math

import numpy as np
import pytest

from ranktrail_evals.comparison import Comparison, ComparisonExit, compare
from ranktrail_evals.errors import NotComparable
from ranktrail_evals.results.model import Result
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_judge, a_result, scored

SEED = 1


def compared(baseline: Result, candidate: Result, tolerance: float = 0.0) -> Comparison:
    return compare(baseline, candidate, tolerance=tolerance, seed=SEED)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"dataset": "other"}, "the dataset differs"),
        ({"dataset_checksum": "0"}, "the dataset checksum differs"),
        ({"split": "dev"}, "the split differs"),
        ({"contracts": {"f1": 2}}, "the contract of f1 differs"),
        ({"judge": a_judge("other")}, "the judge differs"),
        ({"is_complete": False}, "the candidate was interrupted"),
    ],
)
def test_what_is_not_comparable_is_refused_and_says_why(changed: dict[str, object], what: str) -> None:
    baseline = a_result(scored("r1"), judge=a_judge())
    with pytest.raises(NotComparable, match=what):
        compared(baseline, a_result(scored("r1"), judge=a_judge()).model_copy(update=changed))


def test_a_judge_on_one_side_only_leaves_the_other_metrics_comparable() -> None:
    found = compared(a_result(scored("r1")), a_result(scored("r1", faithfulness=0.2), judge=a_judge()))
    assert found.exit_code is ComparisonExit.HELD
    assert found.metrics["faithfulness"].paired == 0
    assert found.metrics["faithfulness"].delta is None
    back = compared(a_result(scored("r1", faithfulness=0.2), judge=a_judge()), a_result(scored("r1")))
    assert back.exit_code is ComparisonExit.HELD


def test_the_same_result_has_no_difference() -> None:
    result = a_result(scored("r1", f1=0.3), scored("r2", f1=0.9))
    found = compared(result, result)
    assert found.exit_code is ComparisonExit.HELD
    assert found.metrics["f1"].delta == 0
    assert found.metrics["f1"].interval == (0.0, 0.0)


def test_deltas_are_paired_and_their_interval_is_seeded() -> None:
    baseline = a_result(*(scored(f"r{at}", f1=0.5) for at in range(8)), scored("gone", f1=0.0))
    values = [0.4, 0.5, 0.9, 0.8, 0.7, 0.6, 0.5, 0.9]
    candidate = a_result(*(scored(f"r{at}", f1=value) for at, value in enumerate(values)), scored("new", f1=1.0))
    found = compared(baseline, candidate).metrics["f1"]
    assert found.delta == pytest.approx(math.fsum(values) / 8 - 0.5)
    assert (found.paired, found.better, found.worse) == (8, 5, 1)
    assert found.interval is not None
    assert found.interval == compared(baseline, candidate).metrics["f1"].interval
    means = np.random.default_rng(5).choice(np.array(values) - 0.5, (20_000, 8)).mean(axis=1)
    assert found.interval == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=0.02)


def test_one_pair_has_no_interval() -> None:
    assert compared(a_result(scored("r1", f1=0.1)), a_result(scored("r1", f1=0.2))).metrics["f1"].interval is None


def test_worse_beyond_the_tolerance_is_a_regression_and_names_its_cases() -> None:
    baseline = a_result(scored("r1", f1=0.8), scored("r2", f1=0.5))
    candidate = a_result(scored("r1", f1=0.6, run_id="RUN7"), scored("r2", f1=0.5))
    found = compared(baseline, candidate)
    assert found.exit_code is ComparisonExit.REGRESSED
    assert [(one.record_id, one.metric, one.run_id) for one in found.regressions] == [("r1", "f1", "RUN7")]
    assert compared(baseline, candidate, 0.1).exit_code is ComparisonExit.HELD  # the mean lost 0.1, however it is added
    assert compared(baseline, candidate, 0.09).exit_code is ComparisonExit.REGRESSED


def test_more_of_what_should_be_low_is_worse() -> None:
    lower, higher = (a_result(scored("r1", hallucination_rate=value), judge=a_judge()) for value in (0.1, 0.3))
    assert compared(lower, higher).exit_code is ComparisonExit.REGRESSED
    assert compared(higher, lower).exit_code is ComparisonExit.HELD
    assert compared(higher, lower).metrics["hallucination_rate"].better == 1


def test_new_and_missing_cases_are_named_and_a_missing_one_is_incomplete() -> None:
    found = compared(a_result(scored("r1"), scored("r2")), a_result(scored("r2"), scored("r3")))
    assert (found.new_cases, found.missing_cases) == (("r3",), ("r1",))
    assert found.exit_code is ComparisonExit.INCOMPLETE
    assert compared(a_result(scored("r2")), a_result(scored("r2"), scored("r3"))).exit_code is ComparisonExit.HELD


def test_a_value_that_is_there_no_more_is_incomplete_and_no_zero() -> None:
    found = compared(
        a_result(scored("r1", f1=0.5), scored("r2", f1=0.5)),
        a_result(scored("r1", f1=0.5), scored("r2", f1=Reason.ANSWER_ERROR)),
    )
    assert [(one.record_id, one.metric, one.reason) for one in found.lost_values] == [("r2", "f1", "answer_error")]
    assert found.metrics["f1"].delta == 0
    assert found.exit_code is ComparisonExit.INCOMPLETE

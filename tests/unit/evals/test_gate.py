"""The gate fails for the right reason: a threshold before what is missing, and neither for what nobody asked for."""

import pytest

from ranktrail_evals.errors import OptionInvalid
from ranktrail_evals.gate import DEFINITIONS, make_gate
from ranktrail_evals.results.model import GateExit, Outcome
from ranktrail_evals.results.summary import Stamp
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_record, a_result, scored, with_citations


def test_by_default_what_needs_no_judge_and_is_annotated_is_required() -> None:
    plain = a_record()
    annotated = a_record(**{**with_citations("a", relevant=["a"]), "answer_citation_ids": ["a"]})
    assert make_gate([plain], [], []).required == {"exact_match", "f1"}
    assert make_gate([plain, annotated], [], []).required == {
        "exact_match", "f1", "citation_accuracy", "retrieval_recall",
    }  # fmt: skip


def test_require_and_threshold_choose_what_gates() -> None:
    gate = make_gate([a_record()], ["f1"], ["hallucination_rate <= 0.25"])
    assert gate.required == {"f1", "hallucination_rate"}
    assert gate.thresholds["hallucination_rate"] == 0.25
    assert gate.thresholds["f1"] == 0.5


@pytest.mark.parametrize(
    ("require", "threshold", "sentence"),
    [
        (["f2"], [], "'f2' is no metric: there are exact_match"),
        ([], ["f2>=0.5"], "'f2' is no metric"),
        ([], ["f1"], "is no threshold"),
        ([], ["f1=0.5"], "is no threshold"),
        ([], ["f1<=0.5"], "f1 passes >= its threshold"),
        ([], ["hallucination_rate>=0.5"], "hallucination_rate passes <= its threshold"),
        ([], ["f1>=1.5"], "is no number from 0 to 1"),
        ([], ["f1>=-1"], "is no number from 0 to 1"),
        ([], ["f1>=nan"], "is no number from 0 to 1"),
        ([], ["f1>=half"], "is no number from 0 to 1"),
    ],
)
def test_an_option_that_means_nothing_is_refused(require: list[str], threshold: list[str], sentence: str) -> None:
    with pytest.raises(OptionInvalid, match=sentence):
        make_gate([a_record()], require, threshold)


def test_the_thresholds_that_ship_are_these() -> None:
    found = {name: f"{one.direction.comparison}{one.threshold:g}" for name, one in DEFINITIONS.items()}
    assert found == {
        "exact_match": ">=1",
        "f1": ">=0.5",
        "citation_accuracy": ">=0.8",
        "retrieval_recall": ">=0.8",
        "nDCG@10": ">=0.7",
        "faithfulness": ">=0.6",
        "hallucination_rate": "<=0.4",
        "answer_relevancy": ">=0.6",
        "context_precision": ">=0.5",
        "context_recall": ">=0.5",
    }
    assert all(one.meaning and one.source for one in DEFINITIONS.values())


def test_a_mean_on_the_threshold_passes_however_it_was_added_up() -> None:
    gate = make_gate([], ["retrieval_recall"], [])
    values = [0.7, 0.8, 0.9]
    result = a_result(*(scored(f"r{at}", retrieval_recall=value) for at, value in enumerate(values)), gate=gate)
    assert sum(values) / 3 != 0.8
    assert result.metrics["retrieval_recall"].outcome is Outcome.PASS


def test_lower_is_better_is_gated_the_other_way_round() -> None:
    gate = make_gate([], ["hallucination_rate"], [])
    assert a_result(scored("r", hallucination_rate=0.4), gate=gate).exit_code is GateExit.PASSED
    assert a_result(scored("r", hallucination_rate=0.41), gate=gate).exit_code is GateExit.FAILED


def test_a_failed_threshold_wins_over_what_is_missing() -> None:
    gate = make_gate([], ["f1", "faithfulness"], [])
    result = a_result(scored("r", f1=0.0), gate=gate)
    assert result.metrics["faithfulness"].outcome is Outcome.UNAVAILABLE
    assert result.exit_code is GateExit.FAILED


@pytest.mark.parametrize(
    "reason", [Reason.JUDGE_TIMEOUT, Reason.JUDGE_ERROR, Reason.UNDECIDABLE_JOIN, Reason.NO_ANSWER, Reason.NO_CONTEXTS]
)
def test_one_missing_value_of_a_required_metric_is_incomplete(reason: Reason) -> None:
    gate = make_gate([], ["faithfulness"], [])
    result = a_result(scored("r1", faithfulness=1.0), scored("r2", faithfulness=reason), gate=gate)
    metric = result.metrics["faithfulness"]
    assert (metric.outcome, metric.scored, metric.total) == (Outcome.PASS, 1, 2)
    assert result.exit_code is GateExit.INCOMPLETE


def test_a_case_that_asks_nothing_of_a_metric_leaves_nothing_open() -> None:
    gate = make_gate([], ["retrieval_recall"], [])
    result = a_result(
        scored("r1", retrieval_recall=1.0), scored("r2", retrieval_recall=Reason.MISSING_ANNOTATION), gate=gate
    )
    assert result.exit_code is GateExit.PASSED
    nobody = a_result(scored("r2", retrieval_recall=Reason.MISSING_ANNOTATION), gate=gate)
    assert nobody.exit_code is GateExit.INCOMPLETE


def test_required_without_being_a_metric_of_the_dataset_is_incomplete() -> None:
    assert a_result(scored("r"), gate=make_gate([], ["nDCG@10"], [])).exit_code is GateExit.INCOMPLETE


def test_what_is_not_required_decides_nothing() -> None:
    result = a_result(scored("r", f1=1.0, faithfulness=0.0), gate=make_gate([], ["f1"], []))
    assert result.metrics["faithfulness"].outcome is Outcome.FAIL
    assert result.exit_code is GateExit.PASSED


def test_a_mean_is_over_the_scored_cases_and_never_counts_a_reason_as_zero() -> None:
    result = a_result(scored("r1", f1=1.0), scored("r2", f1=Reason.NO_ANSWER))
    assert result.metrics["f1"].value == 1.0


def test_two_runs_in_one_second_have_names_of_their_own() -> None:
    assert len({Stamp.now("mine").result_id for _ in range(1_000)}) == 1_000

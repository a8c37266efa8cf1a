"""A failing case has labels in their order, a passing one none, and no text stands in them."""

import json

import pytest

from ranktrail_evals.cases import Case
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.gate import DEFINITIONS
from ranktrail_evals.labels import Label, is_refusal, labels_of
from ranktrail_evals.runner import evaluated
from ranktrail_evals.scores import Reason, Score
from tests.unit.evals.made import a_case, a_record, with_citations

THRESHOLDS = {name: definition.threshold for name, definition in DEFINITIONS.items()}
RECORD = Record.model_validate_json(json.dumps(with_citations("a", "b", "c", relevant=["a", "b"])))


def labelled(case: Case, **judged: Score) -> list[str]:
    scores = evaluated(case, judge_configured=bool(judged)).scores | judged
    return [str(label) for label in labels_of(case, scores, THRESHOLDS, DEFINITIONS)]


def test_a_passing_case_has_none() -> None:
    assert labelled(a_case(RECORD, ids=["a", "b"], cited=["a"]), faithfulness=1.0) == []


def test_a_value_above_its_threshold_passes_although_something_is_missing() -> None:
    five = with_citations(*"abcde", relevant=list("abcde"))
    case = a_case(Record.model_validate_json(json.dumps(five)), ids=list("abcd"))
    assert labelled(case) == []


def test_nothing_of_what_is_relevant_is_a_miss_and_an_omission() -> None:
    assert labelled(a_case(RECORD, ids=["c"])) == ["retrieval_miss", "context_omission"]
    assert labelled(a_case(RECORD, ids=[])) == ["retrieval_miss", "context_omission"]


def test_some_of_it_is_an_omission_alone() -> None:
    assert labelled(a_case(RECORD, ids=["a", "c"])) == ["context_omission"]


def test_what_cannot_be_decided_is_no_omission() -> None:
    assert labelled(a_case(RECORD, ids=["unit"], answer="wrong")) == ["unclassified"]


@pytest.mark.parametrize("judged", [{"faithfulness": 0.5}, {"hallucination_rate": 0.5}])
def test_statements_without_support_are_unsupported_claims(judged: dict[str, Score]) -> None:
    assert labelled(a_case(RECORD, ids=["a", "b"]), **judged) == ["unsupported_claim"]


def test_a_wrong_citation_is_found_by_the_join() -> None:
    assert labelled(a_case(RECORD, ids=["a", "b"], cited=["c"])) == ["wrong_citation"]


def test_refusing_what_has_an_answer_and_answering_what_has_none_are_labelled() -> None:
    assert labelled(a_case(answer="I don't know.")) == ["out_of_scope_refusal"]
    out_of_scope = a_record(reference_answer="The documentation does not say.")
    assert labelled(a_case(out_of_scope, answer="It costs 5 crowns.")) == ["out_of_scope_refusal"]
    assert labelled(a_case(out_of_scope, answer="I do not know that.")) == ["unclassified"]


@pytest.mark.parametrize("reason", [Reason.JUDGE_TIMEOUT, Reason.JUDGE_ERROR])
def test_a_failing_judge_is_a_failure_of_the_evaluator(reason: Reason) -> None:
    assert labelled(a_case(RECORD, ids=["a", "b"]), faithfulness=reason) == ["evaluator_failure"]


@pytest.mark.parametrize("reason", [Reason.JUDGE_NOT_CONFIGURED, Reason.JUDGE_NOT_ASKED, Reason.NO_CONTEXTS])
def test_what_nobody_asked_for_is_no_failure(reason: Reason) -> None:
    assert labelled(a_case(RECORD, ids=["a", "b"]), faithfulness=reason) == []


def test_several_labels_stand_in_their_order() -> None:
    case = a_case(RECORD, answer="I cannot say.", ids=["c"], cited=["c"])
    found = labelled(case, faithfulness=0.0, context_recall=Reason.JUDGE_ERROR)
    assert found == [
        "retrieval_miss",
        "context_omission",
        "unsupported_claim",
        "wrong_citation",
        "out_of_scope_refusal",
        "evaluator_failure",
    ]
    assert found == [str(label) for label in Label][:-1]


@pytest.mark.parametrize(
    "text", ["I don’t know", "The manual does not say.", "That is not documented", "Out of scope."]
)
def test_a_refusal_is_recognised(text: str) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize("text", ["No, nothing is uploaded", "in scope of the lease", "It says so.", ""])
def test_an_answer_is_no_refusal(text: str) -> None:
    assert not is_refusal(text)

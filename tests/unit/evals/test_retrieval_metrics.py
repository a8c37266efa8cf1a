"""retrieval_recall, citation_accuracy and nDCG@10 stand on the join, and know what they cannot say."""

import json
from collections.abc import Sequence

import pytest

from ranktrail_evals.answers import Answer
from ranktrail_evals.cases import Case
from ranktrail_evals.contexts import Retrieval
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.metrics.citation_accuracy import citation_accuracy
from ranktrail_evals.metrics.ndcg import ndcg
from ranktrail_evals.metrics.retrieval_recall import retrieval_recall
from ranktrail_evals.passages import Context
from ranktrail_evals.scores import Reason
from tests.unit.evals.made import a_case, a_record, with_citations


def cited(*ids: str, relevant: Sequence[str] = ()) -> Record:
    return Record.model_validate_json(json.dumps(with_citations(*ids, relevant=relevant)))


AB = cited("a", "b", "c", relevant=["a", "b"])


@pytest.mark.parametrize(("ids", "value"), [(["c"], 0.0), (["c", "a"], 0.5), (["b", "a"], 1.0), (["a", "a"], 0.5)])
def test_recall_is_the_share_of_relevant_citations_that_came(ids: list[str], value: float) -> None:
    assert retrieval_recall(a_case(AB, ids=ids)) == value


def test_an_empty_retrieval_has_a_recall_of_zero() -> None:
    assert retrieval_recall(a_case(AB, ids=[])) == 0.0


def test_a_record_without_relevant_citations_asks_nothing_of_a_retrieval() -> None:
    assert retrieval_recall(a_case(cited("a"), ids=["a"])) is Reason.MISSING_ANNOTATION
    assert ndcg(a_case(cited("a"), ids=["a"])) is Reason.MISSING_ANNOTATION


def test_an_undecidable_join_is_never_zero() -> None:
    case = a_case(AB, ids=["unit#1"])
    assert retrieval_recall(case) is Reason.UNDECIDABLE_JOIN
    assert citation_accuracy(a_case(AB, cited=["unit#1"], ids=["unit#1"])) is Reason.UNDECIDABLE_JOIN


def test_a_failed_retrieval_is_a_reason_and_not_a_recall() -> None:
    assert retrieval_recall(a_case(AB, contexts=Reason.RETRIEVAL_TIMEOUT)) is Reason.RETRIEVAL_TIMEOUT


@pytest.mark.parametrize(
    ("ids", "value"),
    [(["a"], 1.0), (["c"], 0.0), (["a", "c"], 0.5), (["a", "a", "c", None], 0.5), (["a", "b", "c"], 2 / 3)],
)
def test_citation_accuracy_is_precision_over_distinct_citations(ids: list[str | None], value: float) -> None:
    assert citation_accuracy(a_case(AB, cited=ids)) == pytest.approx(value)


@pytest.mark.parametrize("ids", [None, [], [None]])
def test_an_answer_that_cites_nothing_has_no_accuracy(ids: list[str | None] | None) -> None:
    assert citation_accuracy(a_case(AB, cited=ids)) is Reason.MISSING_ANNOTATION


def test_a_live_answer_cites_contexts_and_the_join_says_which_citations_those_are() -> None:
    contexts = [Context("so it reads: the text of a", "u1"), Context("nothing of it", "u2"), Context("more", "u3")]
    assert citation_accuracy(a_case(AB, cited=["u1", "u2"], ids=["u1", "u2", "u3"], contexts=contexts)) == 0.5
    assert citation_accuracy(a_case(AB, cited=["u1", "u9"], ids=["u1", "u2", "u3"], contexts=contexts)) == 0.5


def test_a_dataset_may_speak_of_resources_where_the_ranker_names_units() -> None:
    contexts = (Context("x", "u1"), Context("y", "u2"), Context("z", "u3"))
    retrieval = Retrieval(contexts, ("u1", "u2", "u3"), other_ids=(("a", "c", "a"), ("d1", "d2", "d3")))
    case = Case(AB, retrieval, Answer("this one", ("u1", "u2")))
    assert retrieval_recall(case) == 0.5
    assert citation_accuracy(case) == 0.5


def graded(**grades: int) -> Record:
    return a_record(
        citations=[{"citation_id": one, "source": "s", "text": f"the {one} text {one}"} for one in grades],
        judgments=[{"citation_id": one, "relevant": grade > 0, "grade": grade} for one, grade in grades.items()],
    )


def test_ndcg_of_missed_evidence_has_an_ideal_over_all_judgments() -> None:
    record = graded(A=3, B=2, C=1, D=3, X=0)
    assert ndcg(a_case(record, ids=["B", "X", "A"])) == pytest.approx(0.486994, abs=1e-6)


def test_ndcg_counts_a_citation_once_however_often_it_comes() -> None:
    record = graded(A=1)
    assert ndcg(a_case(record, ids=["A", "A"])) == 1.0


def test_a_context_that_holds_two_citations_earns_the_better_and_leaves_the_other() -> None:
    record = a_record(
        citations=[{"citation_id": "x", "text": "alpha beta"}, {"citation_id": "y", "text": "gamma delta"}],
        judgments=[
            {"citation_id": "x", "relevant": True, "grade": 1},
            {"citation_id": "y", "relevant": True, "grade": 3},
        ],
    )
    assert ndcg(a_case(record, contexts=["alpha beta gamma delta", "alpha beta"])) == 1.0
    assert ndcg(a_case(record, contexts=["alpha beta gamma delta"])) == pytest.approx(7 / (7 + 1 / 1.584963), abs=1e-6)


def test_ndcg_is_zero_of_an_empty_retrieval_and_cut_at_ten_on_both_sides() -> None:
    fifteen = graded(**{f"c{place}": 1 for place in range(15)})
    assert ndcg(a_case(fifteen, ids=[])) == 0.0
    assert ndcg(a_case(fifteen, ids=[f"c{place}" for place in range(10)])) == pytest.approx(1.0)

"""The measures of `ranktrail evals` against other implementations of the same definitions."""

import random
import re
import string
from collections import Counter

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, R, nDCG

from ranktrail_evals.cases import Case
from ranktrail_evals.judge.context_precision import average_precision
from ranktrail_evals.metrics.exact_match import exact_match
from ranktrail_evals.metrics.f1 import f1
from ranktrail_evals.metrics.ndcg import ndcg
from ranktrail_evals.metrics.retrieval_recall import retrieval_recall
from tests.unit.evals.made import a_case, a_record

rankings = st.tuples(
    st.lists(st.integers(0, 3), min_size=1, max_size=14).filter(any),
    st.randoms(use_true_random=False),
    st.integers(1, 14),
)


def graded_case(grades: list[int], shuffled: random.Random, size: int) -> tuple[dict[str, int], list[str], Case]:
    judged = {f"c{place}": grade for place, grade in enumerate(grades)}
    retrieved = shuffled.sample(sorted(judged), min(size, len(judged)))
    record = a_record(
        citations=[{"citation_id": one} for one in judged],
        judgments=[{"citation_id": one, "relevant": grade > 0, "grade": grade} for one, grade in judged.items()],
    )
    return judged, retrieved, a_case(record, ids=retrieved)


@settings(deadline=None)
@given(rankings)
def test_ndcg_and_recall_are_those_of_ir_measures(ranking: tuple[list[int], random.Random, int]) -> None:
    """Its nDCG gains what a judgment is worth, so it is given 2^grade - 1."""
    judged, retrieved, case = graded_case(*ranking)
    run = [ir_measures.ScoredDoc("q", one, -float(rank)) for rank, one in enumerate(retrieved)]
    qrels = [ir_measures.Qrel("q", one, 2**grade - 1) for one, grade in judged.items()]
    theirs = ir_measures.calc_aggregate([nDCG @ 10, R @ 20], qrels, run)
    assert ndcg(case) == pytest.approx(theirs[nDCG @ 10])
    assert retrieval_recall(case) == pytest.approx(theirs[R @ 20])


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=10).filter(any))
def test_average_precision_is_that_of_ir_measures(useful: list[bool]) -> None:
    qrels = [ir_measures.Qrel("q", str(place), int(one)) for place, one in enumerate(useful)]
    run = [ir_measures.ScoredDoc("q", str(place), -float(place)) for place in range(len(useful))]
    assert average_precision(useful) == pytest.approx(ir_measures.calc_aggregate([AP], qrels, run)[AP])


def squad_words(text: str) -> list[str]:
    """Return the words as SQuAD's own script has them."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def squad_f1(answer: str, reference: str) -> float:
    one, other = squad_words(answer), squad_words(reference)
    shared = sum((Counter(one) & Counter(other)).values())
    if not shared:
        return 0.0
    precision, recall = shared / len(one), shared / len(other)
    return 2 * precision * recall / (precision + recall)


plain = st.lists(st.sampled_from(["the", "a", "Tower", "tower.", "of", "Paris,", "1889", '"iron"']), max_size=6)


@settings(deadline=None)
@given(plain, plain)
def test_on_plain_english_f1_and_exact_match_are_those_of_squad(answer: list[str], reference: list[str]) -> None:
    """Where a noun ends both texts; what follows an article alone is ours to decide."""
    one, other = " ".join([*answer, "lamp"]), " ".join([*reference, "lamp"])
    case = a_case(a_record(reference_answer=other), answer=one)
    assert f1(case) == pytest.approx(squad_f1(one, other))
    assert exact_match(case) == float(squad_words(one) == squad_words(other))

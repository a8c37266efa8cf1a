"""Failure labels: what went wrong with a case, from the cause to what nobody can name. A passing case has none.

Labels are made of ids and values alone; no question, answer or context stands in them.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum

from ranktrail_evals.cases import Case
from ranktrail_evals.scores import EVALUATOR_FAILURES, Definition, Reason, Score


class Label(StrEnum):
    """Every label, in the order in which a case has them."""

    RETRIEVAL_MISS = "retrieval_miss"
    CONTEXT_OMISSION = "context_omission"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    WRONG_CITATION = "wrong_citation"
    OUT_OF_SCOPE_REFUSAL = "out_of_scope_refusal"
    EVALUATOR_FAILURE = "evaluator_failure"
    UNCLASSIFIED = "unclassified"


Scores = Mapping[str, Score]
Thresholds = Mapping[str, float]

_REFUSAL = re.compile(
    r"\b(?:i|we) (?:do not|don't|cannot|can't|could not|couldn't) (?:know|say|tell|answer|find)\b"
    r"|\b(?:does|do|did) not (?:say|mention|describe|cover|state)\b|\b(?:doesn't|don't|didn't) (?:say|mention|cover)\b"
    r"|\b(?:is|are) not (?:covered|mentioned|documented|described|answered|stated)\b"
    r"|\b(?:no|not enough|insufficient) information\b|\bout(?:side)? (?:of )?(?:the )?scope\b"
)


def is_refusal(text: str) -> bool:
    """Say whether a text says, in English, that the question cannot be answered."""
    return _REFUSAL.search(text.casefold().replace("\u2019", "'")) is not None


def labels_of(case: Case, scores: Scores, thresholds: Thresholds, definitions: Mapping[str, Definition]) -> list[Label]:
    """Return the labels of a case; none where every value meets its threshold and nothing failed to be evaluated."""
    missed = {
        name
        for name, score in scores.items()
        if not isinstance(score, Reason) and not definitions[name].direction.meets(score, thresholds[name])
    }
    is_unevaluated = not EVALUATOR_FAILURES.isdisjoint(one for one in scores.values() if isinstance(one, Reason))
    if not missed and not is_unevaluated:
        return []
    found = list(_causes(case, missed, scores))
    if is_unevaluated:
        found.append(Label.EVALUATOR_FAILURE)
    return found or [Label.UNCLASSIFIED]


def _causes(case: Case, missed: set[str], scores: Scores) -> Iterator[Label]:
    retrieved, relevant = case.retrieved_citations(), frozenset(case.record.relevant_ids)
    if not isinstance(retrieved, Reason):
        if retrieved.isdisjoint(relevant):
            yield Label.RETRIEVAL_MISS
        if not retrieved >= relevant:
            yield Label.CONTEXT_OMISSION
    if not missed.isdisjoint({"faithfulness", "hallucination_rate"}):
        yield Label.UNSUPPORTED_CLAIM
    citations = scores["citation_accuracy"]
    if not isinstance(citations, Reason) and citations < 1:
        yield Label.WRONG_CITATION
    text = case.answer_text
    # Refused what has an answer, or answered what has none.
    if not isinstance(text, Reason) and is_refusal(text) != any(map(is_refusal, case.record.answers)):
        yield Label.OUT_OF_SCOPE_REFUSAL

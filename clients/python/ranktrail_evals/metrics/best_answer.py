"""An answer against every reference answer: the best one counts."""

from collections.abc import Callable

from ranktrail_evals.cases import Case
from ranktrail_evals.metrics.answer_words import answer_words
from ranktrail_evals.scores import Reason, Score


def best_score(case: Case, score: Callable[[list[str], list[str]], float]) -> Score:
    """Return the highest `score` of the answer's words against a reference answer's.

    A reference without a word is left out while another one has some.
    """
    text = case.answer_text
    if isinstance(text, Reason):
        return text
    references = [answer_words(reference) for reference in case.record.answers]
    usable = [reference for reference in references if reference] or references[:1]
    answer = answer_words(text)
    return max(score(answer, reference) for reference in usable)

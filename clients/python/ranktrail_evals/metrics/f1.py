"""f1: how many words the answer shares with a reference answer (Rajpurkar et al., EMNLP 2016)."""

from collections import Counter
from collections.abc import Sequence

from ranktrail_evals.cases import Case
from ranktrail_evals.metrics.best_answer import best_score
from ranktrail_evals.scores import Definition, Direction, Score

DEFINITION = Definition(
    name="f1",
    direction=Direction.HIGHER,
    threshold=0.5,
    meaning="harmonic mean of precision and recall of the answer's words against a reference answer's, repeated words "
    "counted; characters in scripts without spaces",
    source="Rajpurkar et al., SQuAD, EMNLP 2016",
)


def f1(case: Case) -> Score:
    """Return F1 against the best reference answer."""
    return best_score(case, overlap)


def overlap(answer: Sequence[str], reference: Sequence[str]) -> float:
    """Return 2 · shared / (words of one + words of the other); 1 of two empty answers, 0 of one."""
    if not answer and not reference:
        return 1.0
    shared = (Counter(answer) & Counter(reference)).total()
    return 2 * shared / (len(answer) + len(reference))

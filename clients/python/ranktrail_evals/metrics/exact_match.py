"""exact_match: the answer says the same words as a reference answer (Rajpurkar et al., EMNLP 2016)."""

from ranktrail_evals.cases import Case
from ranktrail_evals.metrics.best_answer import best_score
from ranktrail_evals.scores import Definition, Direction, Score

DEFINITION = Definition(
    name="exact_match",
    direction=Direction.HIGHER,
    threshold=1.0,
    meaning="1 where the answer has the same words in the same order as a reference answer, else 0",
    source="Rajpurkar et al., SQuAD, EMNLP 2016",
)


def exact_match(case: Case) -> Score:
    """Return 1 or 0; two answers without a word are the same."""
    return best_score(case, lambda answer, reference: float(answer == reference))

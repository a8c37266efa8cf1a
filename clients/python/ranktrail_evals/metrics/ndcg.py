"""nDCG@10: whether what is more relevant was retrieved earlier (Burges et al., ICML 2005)."""

from collections.abc import Mapping
from math import log2

from ranktrail_evals.cases import Case
from ranktrail_evals.join import Matches
from ranktrail_evals.scores import Definition, Direction, Reason, Score

CUTOFF = 10

DEFINITION = Definition(
    name="nDCG@10",
    direction=Direction.HIGHER,
    threshold=0.7,
    meaning="discounted gain of the first ten retrieved over that of the best order of all judgments, with gain "
    "2^grade - 1 and discount log2(rank + 1); each citation counts once",
    source="Burges et al., Learning to rank using gradient descent, ICML 2005",
)


def ndcg(case: Case) -> Score:
    """Return nDCG@10 of the retrieval; only graded records have one."""
    grades = {one.citation_id: one.grade for one in case.record.judgments if one.grade}
    if not grades:
        return Reason.MISSING_ANNOTATION
    matches = case.retrieved_by_rank()
    if isinstance(matches, Reason):
        return matches
    ideal = sorted(grades.values(), reverse=True)
    return _gain(_earned(matches, grades)) / _gain(ideal)


def _earned(matches: Matches, grades: Mapping[str, int]) -> list[int]:
    """Return the grade that each rank earns: that of its best citation which no rank before it has taken."""
    left = dict(grades)
    earned = []
    for brought in matches[:CUTOFF]:
        best = max(sorted(brought & left.keys()), key=left.__getitem__, default=None)
        earned.append(0 if best is None else left.pop(best))
    return earned


def _gain(grades: list[int]) -> float:
    return sum((2.0**grade - 1) / log2(rank + 1) for rank, grade in enumerate(grades[:CUTOFF], start=1))

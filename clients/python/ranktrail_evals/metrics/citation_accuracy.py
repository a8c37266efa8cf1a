"""citation_accuracy: whether what the answer cites is relevant."""

from ranktrail_evals.cases import Case
from ranktrail_evals.scores import Definition, Direction, Reason, Score

DEFINITION = Definition(
    name="citation_accuracy",
    direction=Direction.HIGHER,
    threshold=0.8,
    meaning="share of the distinct passages that the answer cites which are relevant citations, by the join",
    source="set precision (van Rijsbergen, Information Retrieval, 1979)",
)


def citation_accuracy(case: Case) -> Score:
    """Return the precision of the answer's citations."""
    cited = case.cited_by_answer()
    if isinstance(cited, Reason):
        return cited
    relevant = frozenset(case.record.relevant_ids)
    return sum(not relevant.isdisjoint(brought) for brought in cited) / len(cited)

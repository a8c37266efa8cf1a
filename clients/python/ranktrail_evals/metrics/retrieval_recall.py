"""retrieval_recall: whether the retrieval brought what has to be there."""

from ranktrail_evals.cases import Case
from ranktrail_evals.scores import Definition, Direction, Reason, Score

DEFINITION = Definition(
    name="retrieval_recall",
    direction=Direction.HIGHER,
    threshold=0.8,
    meaning="share of the relevant citations that were retrieved, by the join",
    source="set recall (van Rijsbergen, Information Retrieval, 1979)",
)


def retrieval_recall(case: Case) -> Score:
    """Return the recall of the retrieval; 0 where nothing was retrieved."""
    found = case.retrieved_citations()
    if isinstance(found, Reason):
        return found
    relevant = frozenset(case.record.relevant_ids)
    return len(relevant & found) / len(relevant)

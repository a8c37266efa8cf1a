"""The measures of one case in one trace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ranktrail_evals.measures import judged, ndcg, recall, reciprocal_rank
from ranktrail_evals.replay.following import Followed
from ranktrail_evals.replay.matching import Matching
from ranktrail_evals.replay.orders import ORDERS
from ranktrail_evals.replay.trace import Trace

Measure = Callable[[Sequence[int | None], Sequence[int]], float | None]

COMPARED: dict[str, Measure] = {
    recall.NAME: recall.recall,
    ndcg.NAME: ndcg.ndcg,
    reciprocal_rank.NAME: reciprocal_rank.reciprocal_rank,
}
"""The measures of relevance, which are compared."""
MEASURES: dict[str, Measure] = {**COMPARED, judged.NAME: judged.judged_share}


@dataclass(frozen=True, slots=True)
class Measured:
    """A case: values by order and measure, None where there is none, and the fate of each relevant judgment."""

    values: dict[tuple[str, str], float | None]
    fates: dict[str, str]


def measured(trace: Trace, judgments: Sequence[Followed]) -> Measured:
    """Measure a trace on a case's judgments; those whose unit is no more count as missed."""
    matching = Matching(judgments)
    relevances = [one.judgment.relevance for one in judgments]
    values: dict[tuple[str, str], float | None] = {}
    for order in ORDERS:
        found = matching.relevances(order.rank(trace))
        for name, measure in MEASURES.items():
            values[order.name, name] = measure(found, relevances) if order.ran(trace) else None
    return Measured(values, matching.fates(trace))

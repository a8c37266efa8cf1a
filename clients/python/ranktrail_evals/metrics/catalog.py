"""Every metric without a judge, in the order in which they are shown."""

from collections.abc import Callable
from dataclasses import dataclass

from ranktrail_evals.cases import Case
from ranktrail_evals.dataset.model import Record
from ranktrail_evals.metrics import citation_accuracy, exact_match, f1, ndcg, retrieval_recall
from ranktrail_evals.scores import Definition, Score


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, and whether a record has what it needs to be asked of it."""

    definition: Definition
    score: Callable[[Case], Score]
    is_annotated: Callable[[Record], bool]


def _always(record: Record) -> bool:  # noqa: ARG001 - every record has a reference answer
    return True


DETERMINISTIC = (
    Metric(exact_match.DEFINITION, exact_match.exact_match, _always),
    Metric(f1.DEFINITION, f1.f1, _always),
    Metric(
        citation_accuracy.DEFINITION,
        citation_accuracy.citation_accuracy,
        lambda record: bool(record.answer_citation_ids),
    ),
    Metric(retrieval_recall.DEFINITION, retrieval_recall.retrieval_recall, lambda record: bool(record.relevant_ids)),
    Metric(ndcg.DEFINITION, ndcg.ndcg, lambda record: any(one.grade for one in record.judgments)),
)

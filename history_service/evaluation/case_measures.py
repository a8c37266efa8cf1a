"""Every measure of one case."""

from collections.abc import Sequence

from history_service.evaluation.fused_set import FusedSet
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.matching import Matching
from history_service.evaluation.measures import (
    judged,
    ndcg,
    recall,
    reciprocal_rank,
    resource_diversity,
    scope_violation,
    stale_result,
)
from history_service.evaluation.results import CaseReport, CaseVariantReport, MeasureValue
from history_service.evaluation.stage_loss import fates, stage_loss
from history_service.evaluation.variants import VARIANTS

MEASURES = (
    recall.NAME,
    ndcg.NAME,
    reciprocal_rank.NAME,
    judged.NAME,
    resource_diversity.NAME,
    scope_violation.NAME,
    stale_result.NAME,
)
"""Every measure, in the order of reports."""

_MOST_RESOURCES = max(resource_diversity.CUTOFF, scope_violation.CUTOFF, stale_result.CUTOFF)


def measure_case(case: JudgedCase) -> CaseReport:
    """Measure each variant of a case, and say where its relevant judgments were lost."""
    units = FusedSet.of(case.units)
    matching = Matching(units, case.judgments)
    yardstick = _Yardstick(case, units, matching)
    variants = tuple(CaseVariantReport(variant.name, yardstick.measure(variant.order(units))) for variant in VARIANTS)
    lost = stage_loss(fates(units, case.judgments, matching))
    return CaseReport(case.case_id, case.judgment_version, variants, lost)


class _Yardstick:
    """What the measures of all variants of a case share."""

    def __init__(self, case: JudgedCase, units: FusedSet, matching: Matching) -> None:
        relevances = [judgment.relevance for judgment in case.judgments]
        self._units = units
        self._matching = matching
        self._corpus = case.corpus
        self._judgment_count = len(relevances)
        self._relevant_count = len(relevances) - relevances.count(0)
        self._ideal = ndcg.ideal_dcg(relevances)

    def measure(self, ranking: Sequence[int]) -> tuple[MeasureValue, ...]:
        """Return the measures of a ranking, in the order of MEASURES."""
        return (*self._of_judgments(ranking), *self._of_resources(ranking))

    def _of_judgments(self, ranking: Sequence[int]) -> tuple[MeasureValue, ...]:
        relevances = self._matching.relevances(ranking)
        gained = ndcg.ndcg(relevances, self._ideal)
        return (
            MeasureValue(recall.NAME, recall.recall(relevances, self._relevant_count)),
            MeasureValue(ndcg.NAME, gained, gained, ndcg.highest_ndcg(relevances, self._ideal)),
            MeasureValue(reciprocal_rank.NAME, reciprocal_rank.reciprocal_rank(relevances, self._relevant_count)),
            MeasureValue(judged.NAME, judged.judged(relevances, self._judgment_count)),
        )

    def _of_resources(self, ranking: Sequence[int]) -> tuple[MeasureValue, ...]:
        first = ranking[:_MOST_RESOURCES]
        resource_ids = [self._units.resource_ids[place] for place in first]
        digests = [self._units.resource_digests[place] for place in first]
        return (
            MeasureValue(resource_diversity.NAME, resource_diversity.resource_diversity(resource_ids)),
            MeasureValue(scope_violation.NAME, scope_violation.scope_violation(resource_ids, self._corpus)),
            MeasureValue(stale_result.NAME, stale_result.stale_result(resource_ids, digests, self._corpus)),
        )

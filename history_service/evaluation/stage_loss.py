"""Where relevant judgments were lost."""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from history_service.domain.case import Judgment
from history_service.evaluation.fused_set import FusedSet
from history_service.evaluation.matching import Matching
from history_service.evaluation.results import StageLoss

NOT_RECALLED = "not_recalled"
RETURNED = "returned"


class JudgmentFate(NamedTuple):
    """What became of one relevant judgment.

    `fate` is `returned`, `not_recalled`, or the JSON word of the rule that kept its unit out (`not_reranked` is one).
    """

    judgment: Judgment
    in_lexical: bool
    in_dense: bool
    reranked: bool
    fate: str


def fates(units: FusedSet, judgments: Sequence[Judgment], matching: Matching) -> list[JudgmentFate]:
    """Return the fate of each relevant judgment, in their order.

    A judgment of a whole resource has many units: then the one that came furthest decides.
    """
    return [
        _fate(judgment, units, places)
        for judgment, places in zip(judgments, matching.holders(), strict=True)
        if judgment.relevance
    ]


def stage_loss(found: Sequence[JudgmentFate]) -> StageLoss:
    """Count fates into the funnel."""
    lost = Counter(fate.fate for fate in found)
    returned = lost.pop(RETURNED, 0)
    return StageLoss(
        relevant_count=len(found),
        lexical_recalled_count=sum(fate.in_lexical for fate in found),
        dense_recalled_count=sum(fate.in_dense for fate in found),
        fused_count=len(found) - lost.get(NOT_RECALLED, 0),
        reranked_count=sum(fate.reranked for fate in found),
        returned_count=returned,
        lost_counts=dict(sorted(lost.items())),
    )


def summed(losses: Sequence[StageLoss]) -> StageLoss:
    """Add up the funnels of cases."""
    lost: Counter[str] = Counter()
    for loss in losses:
        lost.update(loss.lost_counts)
    return StageLoss(
        relevant_count=sum(loss.relevant_count for loss in losses),
        lexical_recalled_count=sum(loss.lexical_recalled_count for loss in losses),
        dense_recalled_count=sum(loss.dense_recalled_count for loss in losses),
        fused_count=sum(loss.fused_count for loss in losses),
        reranked_count=sum(loss.reranked_count for loss in losses),
        returned_count=sum(loss.returned_count for loss in losses),
        lost_counts=dict(sorted(lost.items())),
    )


def _distance(units: FusedSet, place: int) -> tuple[bool, int]:
    """Return how far a unit stayed behind what was returned."""
    return not units.selected[place], units.final_ranks[place] or sys.maxsize


def _fate(judgment: Judgment, units: FusedSet, places: Sequence[int]) -> JudgmentFate:
    if not places:
        return JudgmentFate(judgment, in_lexical=False, in_dense=False, reranked=False, fate=NOT_RECALLED)
    furthest = places[0] if len(places) == 1 else min(places, key=lambda place: _distance(units, place))
    return JudgmentFate(
        judgment,
        in_lexical=any(map(units.lexical_ranks.__getitem__, places)),
        in_dense=any(map(units.dense_ranks.__getitem__, places)),
        reranked=any(map(units.reranker_ranks.__getitem__, places)),
        fate=units.exclusion_reasons[furthest] or RETURNED,
    )

"""Reranking: a model's reading of the first fused units decides their order."""

import math
from collections.abc import Sequence

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.profile import RerankSettings
from ranker_service.domain.ranking import Fused, ModelScore, Reranked, rounded
from ranker_service.domain.trace import Stage
from ranker_service.stages.finite import require_finite


def why_not(settings: RerankSettings, token_vectors_missing: str) -> str:
    """Say why a Run is not reranked; empty where it is.

    `token_vectors_missing` is why the index keeps no token vectors, which late interaction reads; empty where it does.
    """
    if settings.method == "none" or settings.depth == 0:
        return "the profile does not rerank"
    return token_vectors_missing if settings.method == "late_interaction" else ""


def rank(head: Sequence[Fused], scores: Sequence[ModelScore], settings: RerankSettings) -> tuple[Reranked, ...]:
    """Order the units of `head` by their scores, then by RRF, then by row; `scores` belong to them, one each.

    The deciding score is the model's, plus rrf_weight * RRF with late interaction. Raises StageFailed where the model
    returned another number of scores, or one that is not finite.
    """
    if len(scores) != len(head):
        summary = f"the reranker returned {len(scores)} scores for {len(head)} units"
        raise StageFailed(Stage.RERANK, "score_count_mismatch", summary)
    reranked = [_reranked(unit, score, settings) for unit, score in zip(head, scores, strict=True)]
    require_finite((unit.score for unit in reranked), Stage.RERANK)
    fused = {unit.row: unit.score for unit in head}
    return tuple(sorted(reranked, key=lambda unit: (-rounded(unit.score), -rounded(fused[unit.row]), unit.row)))


def final_order(fused: Sequence[Fused], reranked: Sequence[Reranked]) -> tuple[int, ...]:
    """Return the rows of the reranked units in their order, then those of the rest by RRF."""
    return tuple(dict.fromkeys([unit.row for unit in reranked] + [unit.row for unit in fused]))


def relevance(model_score: float, settings: RerankSettings) -> float:
    """Read a model's score as 0 to 1: 1 / (1 + exp(-slope * (score - midpoint))), without overflow.

    For display and for the floor, never for order: high scores saturate at 1.
    """
    x = settings.relevance_slope * (model_score - settings.relevance_midpoint)
    small = math.exp(-abs(x))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)


def _reranked(unit: Fused, score: ModelScore, settings: RerankSettings) -> Reranked:
    model_score = float(score.score)
    if settings.method == "cross_encoder":
        return Reranked(unit.row, model_score, None, relevance(model_score, settings), score.truncated)
    combined = model_score + settings.rrf_weight * unit.score
    return Reranked(unit.row, combined, model_score, relevance(model_score, settings), score.truncated)

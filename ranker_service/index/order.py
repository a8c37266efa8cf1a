"""The order of a leg: by score, and by row where scores tie."""

from collections.abc import Iterable

from ranker_service.domain.ranking import Scored, rounded


def in_rank_order(rows: Iterable[int], scores: Iterable[float]) -> list[Scored]:
    """Return units by their score rounded to 12 places, descending, then by row; each keeps its unrounded score."""
    pairs = sorted(zip(rows, scores, strict=True), key=lambda pair: (-rounded(pair[1]), pair[0]))
    return [Scored(row, score) for row, score in pairs]

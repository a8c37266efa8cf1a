"""Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

from collections.abc import Sequence

from ranker_service.domain.ranking import Fused, rounded


def reciprocal_rank_fusion(lists: Sequence[Sequence[int]], k: int) -> tuple[Fused, ...]:
    """Fuse lists of rows, each without duplicates, by the sum of 1 / (k + rank), ranks one-based.

    A list without a row adds nothing to it. Sums are made in the order of `lists`; those that are equal after rounding
    tie: then the row with the best single rank is first, then the lower row.
    """
    scores: dict[int, float] = {}
    best: dict[int, int] = {}
    for rows in lists:
        for rank, row in enumerate(rows, start=1):
            scores[row] = scores.get(row, 0.0) + 1.0 / (k + rank)
            best[row] = min(rank, best.get(row, rank))
    order = sorted(scores, key=lambda row: (-rounded(scores[row]), best[row], row))
    return tuple(Fused(row, scores[row]) for row in order)

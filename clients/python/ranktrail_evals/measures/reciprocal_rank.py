"""Reciprocal rank of the first relevant unit (Voorhees, TREC-8 question answering, 1999); its mean is MRR."""

from collections.abc import Sequence

NAME = "RR"


def reciprocal_rank(relevances: Sequence[int | None], judged: Sequence[int]) -> float | None:
    """Return RR over the whole ranking, 0 where nothing relevant is in it. None where nothing is relevant at all."""
    if not any(judged):
        return None
    return next((1 / rank for rank, relevance in enumerate(relevances, start=1) if relevance), 0.0)

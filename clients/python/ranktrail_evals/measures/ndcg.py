"""Normalised discounted cumulative gain at 10, with exponential gain (Burges et al., ICML 2005)."""

from collections.abc import Sequence
from math import log2

NAME = "nDCG@10"
CUTOFF = 10


def ndcg(relevances: Sequence[int | None], judged: Sequence[int]) -> float | None:
    """Return DCG / ideal DCG, where the ideal is of all judgments, missed ones too. None where none is relevant."""
    ideal = _dcg(sorted(judged, reverse=True))
    return _dcg(relevances) / ideal if ideal else None


def _dcg(relevances: Sequence[int | None]) -> float:
    """Return the sum of (2^relevance - 1) / log2(rank + 1) over the first ten ranks."""
    return float(sum((2 ** (one or 0) - 1) / log2(rank + 1) for rank, one in enumerate(relevances[:CUTOFF], start=1)))

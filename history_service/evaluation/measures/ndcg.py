"""Normalised discounted cumulative gain at 10, with exponential gain (Burges et al., ICML 2005).

nDCG = DCG / ideal DCG, DCG = sum over the first ten ranks of (2^relevance - 1) / log2(rank + 1). The ideal is the DCG
of all judgments, missed ones too, best first and cut at ten as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import log2
from operator import truediv

NAME = "nDCG@10"
CUTOFF = 10

_GAINS: dict[int | None, float] = {None: 0.0, 0: 2.0**0 - 1, 1: 2.0**1 - 1, 2: 2.0**2 - 1, 3: 2.0**3 - 1}
_HIGHEST_GAINS = _GAINS | {None: _GAINS[3]}
_DISCOUNTS = tuple(log2(rank + 1) for rank in range(1, CUTOFF + 1))


def ideal_dcg(judged: Iterable[int]) -> float:
    """Return the DCG of the best order of all judgments' relevances."""
    return _dcg(sorted(judged, reverse=True), _GAINS)


def ndcg(relevances: Sequence[int | None], ideal: float) -> float | None:
    """Return nDCG@10, where a unit without judgment gains nothing. None where `ideal` is 0: nothing is relevant."""
    return _dcg(relevances, _GAINS) / ideal if ideal else None


def highest_ndcg(relevances: Sequence[int | None], ideal: float) -> float | None:
    """Return nDCG@10 as if each unjudged unit of the first ten had the highest relevance, at most 1.

    No judgments of theirs could make it more: the ideal is that of the judgments there are, and further ones could only
    raise it.
    """
    return min(1.0, _dcg(relevances, _HIGHEST_GAINS) / ideal) if ideal else None


def _dcg(relevances: Sequence[int | None], gains: Mapping[int | None, float]) -> float:
    # The shorter of the two ends the walk, so this is also the cut.
    return float(sum(map(truediv, map(gains.__getitem__, relevances), _DISCOUNTS)))

"""The order of a leg: by score, and by row where scores tie."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.ranking import TIE_PLACES, Scored, rounded

_CLEAR_GAP = 2.0 * 10.0**-TIE_PLACES
"""Scores that lie this far apart are apart after rounding, too, and in the same order."""


def in_rank_order(rows: NDArray[Any], scores: NDArray[np.float64]) -> list[Scored]:
    """Return units by their score rounded to 12 places, descending, then by row; each keeps its unrounded score."""
    order = np.lexsort((rows, -scores))
    gaps = -np.diff(scores[order])
    if ((gaps > 0.0) & (gaps < _CLEAR_GAP)).any():
        keys = np.array([rounded(score) for score in scores.tolist()])
        order = np.lexsort((rows, -keys))
    return [Scored(row, score) for row, score in zip(rows[order].tolist(), scores[order].tolist(), strict=True)]

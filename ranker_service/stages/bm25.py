"""BM25, and the lexical list that it makes together with exact identity."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.profile import LegSettings
from ranker_service.domain.ranking import ExactHit, Scored
from ranker_service.domain.trace import Stage
from ranker_service.index.lexical import LexicalIndex
from ranker_service.index.tokenizer import query_tokens
from ranker_service.stages.finite import require_finite


def rank(
    index: LexicalIndex, query: str, settings: LegSettings, allowed: NDArray[np.bool_] | None
) -> tuple[Scored, ...]:
    """Return the best `settings.limit` units that share a term with the query, whatever the sign of their score.

    `allowed` has one flag a row; None allows every row. Raises StageFailed where a score is not finite.
    """
    scored = tuple(index.search(query_tokens(query), settings.limit, allowed))
    require_finite((unit.score for unit in scored), Stage.BM25)
    return scored


def lexical_list(exact: Sequence[ExactHit], bm25: Sequence[Scored], settings: LegSettings) -> tuple[int, ...]:
    """Return the rows of the exact hits, then those of the BM25 units not among them, cut at `settings.limit`."""
    rows = dict.fromkeys([hit.row for hit in exact] + [unit.row for unit in bm25])
    return tuple(islice(rows, settings.limit))

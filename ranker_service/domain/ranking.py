"""What stages hand on.

A row is a unit's position in the index, whose rows are in unit_key order, so the lower row wins every tie that unit_key
decides.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ranker_service.domain.encoding import TokenVectors
from ranker_service.domain.unit import Unit

TIE_PLACES = 12
"""Scores that are equal after rounding to this many places tie."""


class ExactHit(NamedTuple):
    """A unit that the query names. Priority 0 is best."""

    row: int
    priority: int


class Scored(NamedTuple):
    """A unit and its score in one leg; the list that holds it is in rank order."""

    row: int
    score: float


class Fused(NamedTuple):
    """A unit of the fused recall set; the list that holds it is in RRF order."""

    row: int
    score: float


class RerankItem(NamedTuple):
    """A unit to rerank; `token_vectors` only for a reranker that needs them."""

    unit: Unit
    token_vectors: TokenVectors | None


class ModelScore(NamedTuple):
    """A model's reading of a query and a unit, and whether it saw only part of the pair."""

    score: float
    truncated: bool


class Reranked(NamedTuple):
    """A unit that the reranker saw; the list that holds it is in the reranker's order.

    `score` decides the order, `model_score` is the model's part of it (absent for a cross-encoder), `relevance` a
    calibrated 0 to 1 reading of the model's part.
    """

    row: int
    score: float
    model_score: float | None
    relevance: float
    truncated: bool


def rounded(score: float) -> float:
    """Return the score as ties are decided; -0.0 becomes 0.0."""
    return round(score, TIE_PLACES) + 0.0


def ranks(rows: Sequence[int]) -> dict[int, int]:
    """Return the one-based rank of each row of an ordered list without duplicates."""
    return {row: rank for rank, row in enumerate(rows, start=1)}

"""Blind judging: the first units of every variant in one pool, in an order that tells nothing of any rank."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.trace_words import optional

DEFAULT_DEPTH = 10
MAX_DEPTH = 100

Place: TypeAlias = tuple[int, int]
_AFTER_EXACT = 1


@dataclass(frozen=True, slots=True)
class Blind:
    """How deep each variant is pooled, and what the order follows from."""

    depth: int
    seed: str

    def rows(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the pool, shuffled: by the SHA-256 of seed, NUL and unit key, so that a seed is an order for good."""
        return sorted(pool(candidates, self.depth), key=lambda one: _digest(f"{self.seed}\0{one.unit_key}"))


def pool(candidates: Sequence[Candidate], depth: int) -> list[Candidate]:
    """Return the units that are among the first `depth` of any of the report's four variants."""
    chosen: set[str] = set()
    for place in VARIANT_PLACES:
        ranked = sorted((rank, one.unit_key) for one in candidates if (rank := place(one)) is not None)
        chosen.update(unit_key for _, unit_key in ranked[:depth])
    return [one for one in candidates if one.unit_key in chosen]


def row_key(candidate: Candidate) -> str:
    """Return the name of a unit in an address: unlike its position, it tells nothing of its rank."""
    return _digest(candidate.unit_key)[:16]


def _exact_then_bm25(candidate: Candidate) -> Place | None:
    exact, bm25 = optional(candidate, "exact_rank"), optional(candidate, "bm25_rank")
    if exact is not None:
        return 0, exact
    return None if bm25 is None else (_AFTER_EXACT, bm25)


def _by(field: str) -> Callable[[Candidate], Place | None]:
    def place(candidate: Candidate) -> Place | None:
        rank = optional(candidate, field)
        return None if rank is None else (0, rank)

    return place


VARIANT_PLACES: tuple[Callable[[Candidate], Place | None], ...] = (
    _exact_then_bm25,
    _by("dense_rank"),
    _by("rrf_rank"),
    _by("reranker_rank"),
)
"""Where a unit stands in b1_bm25, b2_dense_vector, b3_hybrid_rrf and b4_reranked; None where it does not."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

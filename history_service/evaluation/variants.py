"""The four orders in which one source trace is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

from history_service.evaluation.fused_set import FusedSet

_MEMORY = ("effective_memory", "index_ensure")
_LEXICAL = ("exact", "bm25")
_DENSE = ("embedding", "vector")


@dataclass(frozen=True, slots=True)
class Variant:
    """A named order of the fused recall set, and the stages that it takes, the one that decides it last.

    Units that the deciding stage did not see are not part of the ranking.
    """

    name: str
    order: Callable[[FusedSet], list[int]]
    stages: tuple[str, ...]


def _by(ranks: Sequence[int | None]) -> list[int]:
    # Ranks are one-based, so what is not None is true.
    return sorted(compress(range(len(ranks)), ranks), key=ranks.__getitem__)  # type: ignore[arg-type]


def _exact_then_bm25(units: FusedSet) -> list[int]:
    exact = units.exact_ranks
    return _by(exact) + [place for place in _by(units.bm25_ranks) if exact[place] is None]


VARIANTS = (
    Variant("b1_bm25", _exact_then_bm25, (*_MEMORY, *_LEXICAL)),
    Variant("b2_dense_vector", lambda units: _by(units.dense_ranks), (*_MEMORY, *_DENSE)),
    Variant("b3_hybrid_rrf", lambda units: _by(units.rrf_ranks), (*_MEMORY, *_LEXICAL, *_DENSE, "rrf")),
    Variant(
        "b4_reranked",
        lambda units: _by(units.reranker_ranks),
        ("activation_state", *_MEMORY, *_LEXICAL, *_DENSE, "rrf", "rerank"),
    ),
)
"""Every variant, in the order of reports."""

"""The orders in which a trace is measured: those of its stages over the fused recall set, and what was returned."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ranktrail_evals.replay.trace import RankedUnit, Trace

Ranking = list[RankedUnit]


@dataclass(frozen=True, slots=True)
class Order:
    """A named order and the stage that decides it; units that this stage did not see are not part of it."""

    name: str
    stage: str
    rank: Callable[[Trace], Ranking]

    def ran(self, trace: Trace) -> bool:
        """Say whether the stage ran: where a profile leaves it out, there is no order rather than an empty one."""
        return self.stage in trace.stages


def _by(units: Iterable[RankedUnit], rank_name: str) -> Ranking:
    return sorted(
        (unit for unit in units if getattr(unit, rank_name) is not None), key=lambda unit: int(getattr(unit, rank_name))
    )


def _exact_then_bm25(trace: Trace) -> Ranking:
    return _by(trace.units, "exact_rank") + _by((one for one in trace.units if one.exact_rank is None), "bm25_rank")


RETURNED = "returned"
ORDERS = (
    Order("b1_bm25", "bm25", _exact_then_bm25),
    Order("b2_dense_vector", "vector", lambda trace: _by(trace.units, "dense_rank")),
    Order("b3_hybrid_rrf", "rrf", lambda trace: _by(trace.units, "rrf_rank")),
    Order("b4_reranked", "rerank", lambda trace: _by(trace.units, "reranker_rank")),
    Order(RETURNED, "selection", lambda trace: _by((one for one in trace.units if one.selected), "final_rank")),
)
"""Every order, as reports list them."""

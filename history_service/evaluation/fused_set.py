"""The fused recall set of one Run, as the benchmark reads it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, Self

from history_service.domain.run import Candidate

UnitRow = tuple[
    str, str, str, int | None, int | None, int | None, int | None, int | None, int | None, int | None, int, str | None
]
"""A `RankedUnit` as a plain tuple: a row of the table with its columns."""


class RankedUnit(NamedTuple):
    """The columns of a candidate that the benchmark reads; `_fields` names them in order.

    Ranks are one-based; None means that the stage did not see the unit.
    """

    unit_key: str
    resource_id: str
    resource_digest: str
    exact_rank: int | None
    bm25_rank: int | None
    lexical_rank: int | None
    dense_rank: int | None
    rrf_rank: int | None
    reranker_rank: int | None
    final_rank: int | None
    selected: int
    exclusion_reason: str | None

    @classmethod
    def of(cls, candidate: Candidate) -> Self:
        """Return what the benchmark reads of a candidate."""
        return cls._make(_read(candidate))


_read = attrgetter(*RankedUnit._fields)


@dataclass(frozen=True, slots=True)
class FusedSet:
    """The units of a set, column by column: a report reads thousands of sets, and a column is read far faster.

    A place in the columns stands for a unit, and a ranking is a list of places, first rank first.
    """

    unit_keys: Sequence[str]
    resource_ids: Sequence[str]
    resource_digests: Sequence[str]
    exact_ranks: Sequence[int | None]
    bm25_ranks: Sequence[int | None]
    lexical_ranks: Sequence[int | None]
    dense_ranks: Sequence[int | None]
    rrf_ranks: Sequence[int | None]
    reranker_ranks: Sequence[int | None]
    final_ranks: Sequence[int | None]
    selected: Sequence[int]
    exclusion_reasons: Sequence[str | None]

    @classmethod
    def of(cls, units: Iterable[UnitRow]) -> Self:
        """Turn units into columns."""
        columns = list(zip(*units, strict=True))
        return cls(*columns) if columns else cls(*([()] * len(RankedUnit._fields)))

"""Candidates: the units of a Run's fused recall set, with what each stage made of them."""

from enum import Enum
from typing import NamedTuple

from ranker_service.domain.unit import Unit

EXCERPT_CHARACTERS = 1_200


class ExclusionReason(Enum):
    """The first selection rule that kept a candidate out; the value is its stable JSON word."""

    __hash__ = object.__hash__  # Enum hashes a member's name anew at each look-up, and these are in every candidate

    NOT_RERANKED = "not_reranked"
    FRAGMENT_LIMIT = "fragment_limit"
    BELOW_RELEVANCE = "below_relevance"
    OVERLAP = "overlap"
    PER_RESOURCE_LIMIT = "per_resource_limit"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - a reason, not a secret
    RUN_FAILED = "run_failed"


class DeltaAction(Enum):
    """What the caller does with a selected unit."""

    __hash__ = object.__hash__  # Enum hashes a member's name anew at each look-up, and these are in every candidate

    ADD = "add"
    REPLACE = "replace"
    REUSE = "reuse"


class Candidate(NamedTuple):
    """One unit in one Run. `None` means that the stage did not see it.

    A tuple, like everything that a Run makes by the hundred: it is made three times as fast as a frozen dataclass.
    """

    unit: Unit
    exact_rank: int | None = None
    exact_priority: int | None = None
    bm25_rank: int | None = None
    bm25_score: float | None = None
    lexical_rank: int | None = None
    dense_rank: int | None = None
    dense_score: float | None = None
    rrf_rank: int | None = None
    rrf_score: float | None = None
    reranker_rank: int | None = None
    reranker_score: float | None = None
    late_interaction_score: float | None = None
    reranker_truncated: bool | None = None
    relevance: float | None = None
    final_rank: int | None = None
    final_stage: str | None = None
    selected: bool = False
    exclusion_reason: ExclusionReason | None = None
    delta_action: DeltaAction | None = None

    @property
    def excerpt(self) -> str:
        """The unit's first characters."""
        return self.unit.text[:EXCERPT_CHARACTERS]

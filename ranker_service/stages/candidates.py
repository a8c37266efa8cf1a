"""Candidates: what the stages of a Run found about each unit of the fused recall set, put together once, at its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ranker_service.domain.candidate import Candidate, DeltaAction, ExclusionReason
from ranker_service.domain.ranking import ExactHit, Fused, Reranked, Scored, ranks
from ranker_service.domain.unit import Unit

RERANK_STAGE = "rerank"
RRF_STAGE = "rrf"


@dataclass(slots=True)
class Findings:
    """What the stages found so far, each in rank order; a stage that did not end leaves its part as it is here.

    `order` holds the rows of the final order; `reasons` has one entry a row of it, `actions` one for each selected row.
    """

    exact: Sequence[ExactHit] = ()
    bm25: Sequence[Scored] = ()
    lexical: Sequence[int] = ()
    dense: Sequence[Scored] = ()
    fused: Sequence[Fused] = ()
    reranked: Sequence[Reranked] = ()
    order: Sequence[int] | None = None
    reasons: Sequence[ExclusionReason | None] = ()
    actions: Mapping[int, DeltaAction] = field(default_factory=dict)

    def recalled(self) -> list[int]:
        """Return the recalled rows in the best order there is: final, else fused, else lexical and then dense."""
        if self.order is not None:
            return list(self.order)
        if self.fused:
            return [unit.row for unit in self.fused]
        lexical = self.lexical or [hit.row for hit in self.exact]
        return list(dict.fromkeys([*lexical, *(unit.row for unit in self.dense)]))


def ranked(findings: Findings, unit: Callable[[int], Unit]) -> tuple[Candidate, ...]:
    """Make the candidates of a Run that ended well, in final order; `unit` returns the unit of a row."""
    reasons = dict(zip(findings.recalled(), findings.reasons, strict=True))
    assemble = _Assembly(findings, unit).candidate
    return tuple(assemble(row, reason, findings.actions.get(row)) for row, reason in reasons.items())


def unfinished(findings: Findings, unit: Callable[[int], Unit]) -> tuple[Candidate, ...]:
    """Make the candidates that a failed Run had so far: none selected, each with reason run_failed."""
    assemble = _Assembly(findings, unit).candidate
    return tuple(assemble(row, ExclusionReason.RUN_FAILED, None) for row in findings.recalled())


class _Assembly:
    """Looks each row up in what every stage found."""

    def __init__(self, findings: Findings, unit: Callable[[int], Unit]) -> None:
        self._unit = unit
        self._exact = {hit.row: (rank, hit.priority) for rank, hit in enumerate(findings.exact, start=1)}
        self._bm25 = _scored(findings.bm25)
        self._lexical = ranks(findings.lexical)
        self._dense = _scored(findings.dense)
        self._fused = _scored(findings.fused)
        self._reranked = {unit.row: (rank, unit) for rank, unit in enumerate(findings.reranked, start=1)}
        self._final = ranks(findings.order or ())

    def candidate(self, row: int, reason: ExclusionReason | None, action: DeltaAction | None) -> Candidate:
        exact_rank, exact_priority = self._exact.get(row, (None, None))
        bm25_rank, bm25_score = self._bm25.get(row, (None, None))
        dense_rank, dense_score = self._dense.get(row, (None, None))
        rrf_rank, rrf_score = self._fused.get(row, (None, None))
        reranker_rank, reranked = self._reranked.get(row, (None, None))
        final_rank = self._final.get(row)
        return Candidate(
            unit=self._unit(row),
            exact_rank=exact_rank,
            exact_priority=exact_priority,
            bm25_rank=bm25_rank,
            bm25_score=bm25_score,
            lexical_rank=self._lexical.get(row),
            dense_rank=dense_rank,
            dense_score=dense_score,
            rrf_rank=rrf_rank,
            rrf_score=rrf_score,
            reranker_rank=reranker_rank,
            reranker_score=reranked.score if reranked else None,
            late_interaction_score=reranked.model_score if reranked else None,
            reranker_truncated=reranked.truncated if reranked else None,
            relevance=reranked.relevance if reranked else None,
            final_rank=final_rank,
            final_stage=None if final_rank is None else RERANK_STAGE if reranked else RRF_STAGE,
            selected=reason is None,
            exclusion_reason=reason,
            delta_action=action,
        )


def _scored(units: Sequence[Scored | Fused]) -> dict[int, tuple[int, float]]:
    return {unit.row: (rank, unit.score) for rank, unit in enumerate(units, start=1)}

"""Candidates as serialized messages, quickly: every reply waits for them.

What a unit contributes to a candidate is the same in every Run and most of its bytes, so it is serialized once. The
fields of a unit have lower numbers than those of the stages: joined, the two parts are the message's own serialization.
"""

from ranker_service.domain.candidate import Candidate
from ranker_service.domain.unit import Unit
from ranker_service.wire.convert import candidate_to_proto
from ranker_service.wire.enums import DELTA_ACTIONS, EXCLUSION_REASONS
from ranktrail.trace.v1 import trace_pb2

MOST_UNITS = 8_192


class CandidateEncoder:
    """Serializes candidates; remembers the parts of the units that it saw. Safe to call from any thread."""

    def __init__(self) -> None:
        self._unit_parts: dict[str, tuple[Unit, bytes]] = {}

    def encode(self, candidate: Candidate) -> tuple[bytes, bytes]:
        """Return the bytes of `candidate_to_proto(candidate)` in two parts."""
        unit = candidate.unit
        known = self._unit_parts.get(unit.unit_key)
        if known is None or known[0] is not unit:
            known = unit, candidate_to_proto(Candidate(unit)).SerializeToString()
            if len(self._unit_parts) >= MOST_UNITS:
                self._unit_parts.clear()
            self._unit_parts[unit.unit_key] = known
        return known[1], _stages_part(candidate)


def _stages_part(candidate: Candidate) -> bytes:
    """Return the bytes of everything but the unit."""
    return trace_pb2.Candidate(
        exact_rank=candidate.exact_rank,
        exact_priority=candidate.exact_priority,
        bm25_rank=candidate.bm25_rank,
        bm25_score=candidate.bm25_score,
        lexical_rank=candidate.lexical_rank,
        dense_rank=candidate.dense_rank,
        dense_score=candidate.dense_score,
        rrf_rank=candidate.rrf_rank,
        rrf_score=candidate.rrf_score,
        reranker_rank=candidate.reranker_rank,
        reranker_score=candidate.reranker_score,
        late_interaction_score=candidate.late_interaction_score,
        reranker_truncated=candidate.reranker_truncated,
        relevance=candidate.relevance,
        final_rank=candidate.final_rank,
        final_stage=candidate.final_stage,
        selected=candidate.selected,
        exclusion_reason=EXCLUSION_REASONS[candidate.exclusion_reason],
        delta_action=DELTA_ACTIONS[candidate.delta_action],
    ).SerializeToString()

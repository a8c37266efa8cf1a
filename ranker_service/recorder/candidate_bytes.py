"""Candidates as serialized messages, quickly: every reply waits for them.

What a unit contributes to a candidate is the same in every Run and most of its bytes, so it is serialized once. The
fields of a unit have lower numbers than those of the stages: joined, the two parts are the message's own serialization.
"""

from ranker_service.domain.candidate import Candidate
from ranker_service.domain.unit import Unit
from ranker_service.wire.convert import stages_to_proto, unit_to_proto

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
            known = unit, unit_to_proto(unit).SerializeToString()
            if len(self._unit_parts) >= MOST_UNITS:
                self._unit_parts.clear()
            self._unit_parts[unit.unit_key] = known
        return known[1], stages_to_proto(candidate).SerializeToString()

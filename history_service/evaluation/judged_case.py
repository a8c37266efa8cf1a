"""What a case's measures are computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from history_service.domain.case import Judgment
from history_service.domain.run import StageLatency
from history_service.evaluation.fused_set import UnitRow


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case with its source trace.

    `units` are rows of `RankedUnit`. `judgments` has at most one a (resource_id, unit_key). `corpus` maps each
    resource_id of the frozen corpus to the digest of the full resource; cases of one corpus may share it. `cold` is
    None where nobody knows.
    """

    case_id: str
    judgment_version: int
    judgments: Sequence[Judgment]
    units: Sequence[UnitRow]
    corpus: Mapping[str, str]
    stage_latencies: Sequence[StageLatency]
    cold: bool | None

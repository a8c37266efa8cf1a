"""The trace of one Run; reply and record are both made from it."""

from dataclasses import dataclass, field
from enum import Enum

from ranker_service.domain.candidate import Candidate

MAX_SUMMARY_BYTES = 1_024


class Stage(Enum):
    """The stages of a Run, in order."""

    ACTIVATION_STATE = "activation_state"
    EFFECTIVE_MEMORY = "effective_memory"
    INDEX_ENSURE = "index_ensure"
    EXACT = "exact"
    BM25 = "bm25"
    EMBEDDING = "embedding"
    VECTOR = "vector"
    RRF = "rrf"
    RERANK = "rerank"
    SELECTION = "selection"
    RECORDING = "recording"


class RunState(Enum):
    """How far a Run came."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Revisions:
    """What, together with a query, determines a ranking; empty where the Run failed before it was known."""

    effective_memory_hash: str = ""
    index_revision: str = ""
    parser_revision: str = ""
    chunker_revision: str = ""
    lexical_revision: str = ""
    model_revision: str = ""
    vector_index_revision: str = ""
    reranker_revision: str = ""
    profile_name: str = ""
    profile_digest: str = ""
    resource_count: int = 0
    unit_count: int = 0


@dataclass(frozen=True, slots=True)
class StageLatency:
    """Time in one stage."""

    stage: Stage
    duration_us: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a Run failed. `code` is a stable word; `summary` is cut to 1,024 bytes of UTF-8, on a character boundary."""

    stage: Stage
    code: str
    summary: str

    def __post_init__(self) -> None:
        encoded = self.summary.encode("utf-8", "replace")[:MAX_SUMMARY_BYTES]
        object.__setattr__(self, "summary", encoded.decode("utf-8", "ignore"))


@dataclass(slots=True)
class RunTrace:
    """Filled by the pipeline, stage by stage; read by reply and record once it is terminal."""

    run_id: str
    project_id: str
    query: str
    purpose: str
    activation_state_fingerprint: str
    ranker_instance_id: str
    create_time_us: int
    state: RunState = RunState.RUNNING
    revisions: Revisions | None = None
    query_token_count: int | None = None
    query_tokens_encoded: int | None = None
    stage_latencies: list[StageLatency] = field(default_factory=list)
    cold: bool = False
    candidates: tuple[Candidate, ...] = ()
    returned_fragment_count: int | None = None
    returned_token_count: int | None = None
    failure: Failure | None = None
    complete_time_us: int | None = None

    def add_latency(self, stage: Stage, duration_us: int) -> None:
        """Add time to a stage; the latencies stay in the order of the stages, each stage once."""
        for place, latency in enumerate(self.stage_latencies):
            if latency.stage is stage:
                self.stage_latencies[place] = StageLatency(stage, latency.duration_us + duration_us)
                return
        self.stage_latencies.append(StageLatency(stage, duration_us))
        self.stage_latencies.sort(key=_stage_order)


_STAGE_ORDER = {stage: position for position, stage in enumerate(Stage)}


def _stage_order(latency: StageLatency) -> int:
    return _STAGE_ORDER[latency.stage]

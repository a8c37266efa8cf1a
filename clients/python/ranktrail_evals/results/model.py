"""A result as its file holds it. No question, answer or context stands in it: only ids, values and labels."""

from enum import IntEnum, StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ranktrail_evals.labels import Label
from ranktrail_evals.scores import Direction, Reason

Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """Any part of a result: immutable, no field unknown, no value that is no number."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class GateExit(IntEnum):
    """The exit codes that a gate has."""

    PASSED = 0
    FAILED = 1
    INCOMPLETE = 6


class Outcome(StrEnum):
    """How a metric as a whole came out."""

    PASS = "PASS"  # noqa: S105 - no password
    FAIL = "FAIL"
    UNAVAILABLE = "UNAVAILABLE"


class Value(Part):
    """A metric of one case: a value, or the reason why there is none."""

    value: Share | None
    reason: Reason | None


class RecordResult(Part):
    """One case."""

    record_id: str
    run_id: str | None = Field(description="The recorded Run; null offline.")
    metrics: dict[str, Value]
    lexical_baselines: dict[str, Value] = Field(description="Beside each judged metric, one that needs no judge.")
    labels: tuple[Label, ...] = Field(description="What went wrong; none for a passing case.")


class MetricResult(Part):
    """A metric over all cases."""

    value: Share | None = Field(description="Mean over the scored cases.")
    threshold: Share
    direction: Direction
    outcome: Outcome
    scored: int = Field(ge=0, description="Cases that have a value.")
    total: int = Field(ge=0, description="All cases.")


class BaselineResult(Part):
    """A lexical baseline over all cases."""

    value: Share | None
    scored: int = Field(ge=0)
    total: int = Field(ge=0)


class JudgeIdentity(Part):
    """Who judged."""

    model: str
    embedding_model: str | None


class LiveIdentity(Part):
    """What a live run asked."""

    project_id: str
    profile: str = Field(description="The ranking profile; empty: the ranker's default.")
    generator: str | None = Field(description="The model that answered; null: none was configured.")


class Result(Part):
    """A run."""

    format_version: Literal[1] = 1
    result_id: str = Field(description="Unique; also the name of the files.")
    create_time: str = Field(description="RFC 3339, UTC.")
    product_version: str
    mode: str = Field(description="How contexts and answers came about: offline, live.")
    is_complete: bool = Field(description="False while a judge is still being asked.")
    dataset: str
    dataset_version: str
    dataset_checksum: str
    split: str | None
    sample: int | None
    seed: int
    judge: JudgeIdentity | None
    live: LiveIdentity | None = Field(None, description="What a live run asked; null offline.")
    contracts: dict[str, int] = Field(description="The revision of each metric's meaning.")
    required: tuple[str, ...] = Field(description="The metrics that decide the exit code.")
    exit_code: GateExit
    metrics: dict[str, MetricResult]
    lexical_baselines: dict[str, BaselineResult]
    label_counts: dict[Label, int]
    records: tuple[RecordResult, ...]

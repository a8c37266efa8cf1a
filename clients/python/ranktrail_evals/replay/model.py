"""The result of a replay as its file holds it. No query and no text stands in it: only ids, values and words."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from ranktrail_evals.replay.following import Following
from ranktrail_evals.results.model import GateExit, Outcome, Part

Share = Annotated[float, Field(ge=0, le=1)]


class Measure(StrEnum):
    """What is compared."""

    RECALL = "R@20"
    NDCG = "nDCG@10"
    RR = "RR"


class Difference(Part):
    """A measure in one order, over the cases that have it both before and now."""

    order: str
    measure: Measure
    baseline: Share | None = Field(description="Mean of the frozen traces; null: no case has it on both sides.")
    value: Share | None = Field(description="Mean now.")
    difference: float | None = Field(description="Mean of now - before.")
    interval: tuple[float, float] | None = Field(description="95% percentile bootstrap interval of the difference.")
    p_value: float | None = Field(
        description="Of the sign-flip test, Holm-corrected over the whole replay; null: too few cases differ to tell."
    )
    paired: int
    better: int
    worse: int

    @property
    def is_drop(self) -> bool:
        """Whether it is shown to be worse."""
        return self.p_value is not None and self.p_value <= 0.05 and (self.difference or 0) < 0  # noqa: PLR2004


class Coverage(Part):
    """How many of an order's first ten are judged, mean over the cases."""

    order: str
    baseline: Share | None
    value: Share | None


class JudgmentChange(Part):
    """A relevant judgment that came into what is returned, or left it, and where it is or was lost."""

    judgment: str = Field(description="Its unit_key, or its resource_id where it is of the whole resource.")
    stage: str = Field(description="not_recalled, the rule that kept it out, changed or gone.")


class CaseChange(Part):
    """A case of which something else is returned than was."""

    case_id: str
    run_id: str = Field(description="The Run that the case was pinned from.")
    differences: dict[Measure, float | None] = Field(description="Of what is returned, now - before.")
    lost: tuple[JudgmentChange, ...]
    gained: tuple[JudgmentChange, ...]


class RevisionChange(Part):
    """A revision that is not what it was in some case."""

    revision: str
    before: tuple[str, ...]
    now: tuple[str, ...]


class FailedCase(Part):
    """A case that could not be ranked."""

    case_id: str
    failure: str


class Contestant(Part):
    """One profile of today's ranker against the frozen traces."""

    profile: str
    revisions: tuple[RevisionChange, ...]
    judgments: dict[Following, int]
    differences: tuple[Difference, ...]
    coverage: tuple[Coverage, ...]
    changes: tuple[CaseChange, ...]
    failed: tuple[FailedCase, ...]


class Decision(Part):
    """A condition of the gate for one profile."""

    profile: str
    condition: str
    outcome: Outcome
    value: float | None
    bar: float | None = Field(description="What the value must reach; null where the condition is of significance.")


class Replay(Part):
    """A replay."""

    format_version: Literal[1] = 1
    result_id: str = Field(description="Unique; also the name of the files.")
    create_time: str = Field(description="RFC 3339, UTC.")
    product_version: str
    fixture_sha256: str
    case_count: int
    scored_count: int = Field(description="Cases with a relevant judgment; the others are not measured.")
    exit_code: GateExit
    decisions: tuple[Decision, ...]
    contestants: tuple[Contestant, ...]

"""One query's ranking, as it was recorded or as it is now."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.message_json import message_json


@dataclass(frozen=True, slots=True)
class RankedUnit:
    """A candidate: what it is, and what each stage made of it; None where a stage did not see it."""

    unit_key: str
    resource_id: str
    unit_digest: str
    start_byte: int
    exact_rank: int | None
    bm25_rank: int | None
    dense_rank: int | None
    rrf_rank: int | None
    reranker_rank: int | None
    final_rank: int | None
    selected: bool
    exclusion_reason: str | None

    @classmethod
    def of(cls, candidate: trace_pb2.Candidate) -> "RankedUnit":
        """Return what a replay reads of a candidate."""
        values = message_json(candidate)
        return cls(**{one.name: values[one.name] for one in fields(cls)})


@dataclass(frozen=True, slots=True)
class Trace:
    """The candidates of one query, which stages ran, and the revisions that determined it, by name."""

    units: tuple[RankedUnit, ...]
    stages: frozenset[str]
    revisions: dict[str, str]
    failure: str | None = None


REVISIONS = (
    "parser_revision",
    "chunker_revision",
    "lexical_revision",
    "model_revision",
    "vector_index_revision",
    "reranker_revision",
)
"""What determines a ranking beside the corpus and the profile."""


def revisions_of(revisions: trace_pb2.Revisions) -> dict[str, str]:
    """Return a trace's revisions by name, those of its profile among them."""
    profile = revisions.ranking_profile
    found = {name: str(getattr(revisions, name)) for name in REVISIONS}
    return {**found, "profile": profile.name, "profile_digest": profile.digest}


def stages_of(latencies: Iterable[trace_pb2.StageLatency]) -> frozenset[str]:
    """Return the stages that took time, which are those that ran."""
    return frozenset(one.stage for one in latencies)

"""Runs: one retrieval each, with everything that became of it."""

import json
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from history_service.domain.digest import canonical_json, digest_of


class RunState(Enum):
    """How far a Run came; the value is its JSON word."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StageLatency:
    """Time in one stage."""

    stage: str
    duration_us: int


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a Run failed; `code` is a stable word."""

    stage: str
    code: str
    summary: str


INTERRUPTED = Failure(
    "retrieval",
    "retrieval_interrupted",
    "history has no end of this Run: its ranker or history itself stopped meanwhile",
)
"""What history says of a Run whose ranker never told how it ended. Only such a Run can still be healed."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """What is known of a Run when it begins."""

    run_id: str
    project_id: str
    query: str
    purpose: str
    activation_state_fingerprint: str
    ranker_instance_id: str
    create_time_us: int


@dataclass(frozen=True, slots=True)
class Revisions:
    """What, together with a query, determines a ranking. None where the Run failed before it was known."""

    effective_memory_hash: str | None = None
    index_revision: str | None = None
    parser_revision: str | None = None
    chunker_revision: str | None = None
    lexical_revision: str | None = None
    model_revision: str | None = None
    vector_index_revision: str | None = None
    reranker_revision: str | None = None
    profile_name: str | None = None
    profile_digest: str | None = None
    resource_count: int | None = None
    unit_count: int | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a Run ended. `candidates_digest` is the SHA-256 of the CandidateFrame bytes, however they were framed."""

    state: RunState
    complete_time_us: int
    stage_latencies: tuple[StageLatency, ...]
    cold: bool | None
    failure: Failure | None
    query_token_count: int | None
    query_tokens_encoded: int | None
    returned_fragment_count: int | None
    returned_token_count: int | None
    candidate_count: int
    candidates_digest: str


class Candidate(NamedTuple):
    """One ranked unit of one Run, in the order of the table's columns.

    A named tuple, since a Run has hundreds and each goes to the database as it stands. None means that the stage did
    not see it. `heading_path` is a JSON array of strings; layer, exclusion reason and delta action are JSON words; the
    booleans are 0 and 1.
    """

    unit_key: str
    resource_id: str
    layer: str
    kind: str
    path: str
    title: str
    heading_path: str
    start_byte: int
    end_byte: int
    unit_digest: str
    resource_digest: str
    token_count: int
    excerpt: str
    exact_rank: int | None
    exact_priority: int | None
    bm25_rank: int | None
    bm25_score: float | None
    lexical_rank: int | None
    dense_rank: int | None
    dense_score: float | None
    rrf_rank: int | None
    rrf_score: float | None
    reranker_rank: int | None
    reranker_score: float | None
    late_interaction_score: float | None
    reranker_truncated: int | None
    relevance: float | None
    final_rank: int | None
    final_stage: str | None
    selected: int
    exclusion_reason: str | None
    delta_action: str | None

    @property
    def headings(self) -> list[str]:
        """Headings above the unit, outermost first."""
        return list(json.loads(self.heading_path))


@dataclass(frozen=True)
class RunTrace:
    """A whole Run, as its ranker tells it."""

    start: RunStart
    revisions: Revisions
    end: RunEnd
    candidates: tuple[Candidate, ...]

    @cached_property
    def digest(self) -> str:
        """Digest of everything in the trace; two traces are the same exactly when it is."""
        start, revisions, end = self.start, self.revisions, self.end
        failure = end.failure and [end.failure.stage, end.failure.code, end.failure.summary]
        latencies = [[latency.stage, latency.duration_us] for latency in end.stage_latencies]
        return digest_of(
            canonical_json(
                [
                    [getattr(start, name) for name in RunStart.__slots__],
                    [getattr(revisions, name) for name in Revisions.__slots__],
                    [end.state.value, end.complete_time_us, latencies, end.cold, failure],
                    [end.query_token_count, end.query_tokens_encoded],
                    [end.returned_fragment_count, end.returned_token_count],
                    [end.candidate_count, end.candidates_digest],
                ]
            )
        )


@dataclass(frozen=True, slots=True)
class Run:
    """A Run as it is stored. `end` is None while it runs, and `end.cold` for one that was interrupted."""

    sequence: int
    change_sequence: int
    start: RunStart
    state: RunState
    revisions: Revisions
    end: RunEnd | None
    evaluation_case_id: str | None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which Runs to list; None means no restriction. `query_text` is compared case-folded."""

    project_id: str | None = None
    state: RunState | None = None
    query_text: str | None = None
    create_time_from_us: int | None = None
    create_time_to_us: int | None = None
    pinned: bool | None = None

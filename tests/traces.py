"""Traces and memories as a recorder is given them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ranker_service.domain.candidate import Candidate, DeltaAction, ExclusionReason
from ranker_service.domain.digest import digest_of
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import Failure, Revisions, RunState, RunTrace, Stage, StageLatency
from tests.builders import a_candidate, a_resource, a_unit

FINGERPRINT = digest_of(b"absent")
CREATE_TIME_US = 1_767_225_600_123_456


def a_memory(project_id: str = "project", bodies: Mapping[str, str] | None = None) -> EffectiveMemory:
    """Return a memory of resources with these bodies, given by resource id."""
    bodies = {"guide.md": "Guide"} if bodies is None else bodies
    return EffectiveMemory.of(project_id, [a_resource(name, body) for name, body in bodies.items()])


def write_bodies(directory: Path, bodies: Mapping[str, str]) -> Callable[[str], Path]:
    """Write bodies by digest and return where each lies."""
    directory.mkdir(parents=True, exist_ok=True)
    for body in bodies.values():
        (directory / digest_of(body.encode())).write_bytes(body.encode())
    return lambda digest: directory / digest


def a_trace(run_id: str, memory: EffectiveMemory | None = None, candidates: int = 2, **fields: Any) -> RunTrace:
    """Return a succeeded Run of a memory, with candidates of its first resource."""
    memory = memory or a_memory()
    revisions = Revisions(
        effective_memory_hash=memory.hash,
        index_revision=digest_of(b"index"),
        parser_revision="markdown.v1",
        chunker_revision="sections.v1",
        lexical_revision="bm25okapi.v1",
        model_revision="model.v1",
        vector_index_revision="exact.v1",
        reranker_revision="none",
        profile_name="activation.v1",
        profile_digest=digest_of(b"profile"),
        resource_count=len(memory.resources),
        unit_count=candidates,
    )
    values: dict[str, Any] = {
        "query": "how?",
        "purpose": "activation",
        "activation_state_fingerprint": FINGERPRINT,
        "ranker_instance_id": "ranker-1",
        "create_time_us": CREATE_TIME_US,
        "state": RunState.SUCCEEDED,
        "revisions": revisions,
        "query_token_count": 2,
        "query_tokens_encoded": 2,
        "stage_latencies": [StageLatency(Stage.EXACT, 12), StageLatency(Stage.RRF, 34)],
        "candidates": tuple(some_candidates(memory, candidates)),
        "returned_fragment_count": min(candidates, 1),
        "returned_token_count": 3 * min(candidates, 1),
        "complete_time_us": CREATE_TIME_US + 12_345,
    }
    return RunTrace(run_id=run_id, project_id=memory.project_id, **(values | fields))


def a_failed_trace(run_id: str, project_id: str = "unknown") -> RunTrace:
    """Return a Run that failed before its memory was known."""
    return RunTrace(
        run_id=run_id,
        project_id=project_id,
        query="how?",
        purpose="activation",
        activation_state_fingerprint=FINGERPRINT,
        ranker_instance_id="ranker-1",
        create_time_us=CREATE_TIME_US,
        state=RunState.FAILED,
        failure=Failure(Stage.EFFECTIVE_MEMORY, "project_not_found", "nobody committed to it"),
        complete_time_us=CREATE_TIME_US + 5,
    )


def some_candidates(memory: EffectiveMemory, count: int, excerpt_characters: int = 5) -> list[Candidate]:
    """Return candidates in final order, the first selected, each with every rank and score that a leg gives."""
    resource = next(iter(memory.resources), a_resource())
    found = []
    for i in range(count):
        span = (i * excerpt_characters, (i + 1) * excerpt_characters)
        unit = a_unit(resource.resource_id, span, resource=resource, heading_path=("Guide", f"Part {i}"))
        found.append(
            a_candidate(
                unit,
                bm25_rank=i + 1,
                bm25_score=9.5 - i / 100,
                lexical_rank=i + 1,
                dense_rank=i + 1,
                dense_score=0.9 - i / 1_000,
                rrf_rank=i + 1,
                rrf_score=2 / (61 + i),
                final_rank=i + 1,
                final_stage="rrf",
                selected=i == 0,
                exclusion_reason=None if i == 0 else ExclusionReason.FRAGMENT_LIMIT,
                delta_action=DeltaAction.ADD if i == 0 else None,
            )
        )
    return found

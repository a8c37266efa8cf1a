"""Parts of a trace as messages of the contract. What is None is not set; what is not known stays empty."""

from collections.abc import Iterator, Sequence

from ranker_service.domain.candidate import EXCERPT_CHARACTERS, Candidate, DeltaAction
from ranker_service.domain.limits import CANDIDATES_PER_FRAME
from ranker_service.domain.resource import Resource
from ranker_service.domain.trace import Failure, Revisions, RunState, StageLatency
from ranker_service.domain.unit import Unit
from ranker_service.wire.enums import DELTA_ACTIONS, EXCLUSION_REASONS, LAYERS, PARSE_STATES, RUN_STATES
from ranktrail.history.v1 import history_service_pb2
from ranktrail.trace.v1 import trace_pb2


def candidate_to_proto(candidate: Candidate) -> trace_pb2.Candidate:
    """Convert a candidate."""
    message = unit_to_proto(candidate.unit)
    message.MergeFrom(stages_to_proto(candidate))
    return message


def unit_to_proto(unit: Unit) -> trace_pb2.Candidate:
    """Convert what a unit contributes to each of its candidates, which is the same in every Run.

    One call of the constructor is several times faster than setting fields.
    """
    resource = unit.resource
    return trace_pb2.Candidate(
        unit_key=unit.unit_key,
        resource_id=resource.resource_id,
        layer=LAYERS[resource.layer],
        kind=resource.kind,
        path=resource.path,
        title=resource.title,
        heading_path=unit.heading_path,
        start_byte=unit.start_byte,
        end_byte=unit.end_byte,
        unit_digest=unit.digest,
        resource_digest=resource.digest,
        token_count=unit.token_count,
        excerpt=unit.text[:EXCERPT_CHARACTERS],
    )


def stages_to_proto(candidate: Candidate) -> trace_pb2.Candidate:
    """Convert what the stages of one Run made of a candidate."""
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
    )


def candidate_frames(candidates: Sequence[Candidate]) -> Iterator[list[trace_pb2.Candidate]]:
    """Yield the candidates in order, in lists of at most 256; nothing where there are none."""
    for start in range(0, len(candidates), CANDIDATES_PER_FRAME):
        yield [candidate_to_proto(candidate) for candidate in candidates[start : start + CANDIDATES_PER_FRAME]]


def revisions_to_proto(revisions: Revisions) -> trace_pb2.Revisions:
    """Convert revisions."""
    return trace_pb2.Revisions(
        effective_memory_hash=revisions.effective_memory_hash,
        index_revision=revisions.index_revision,
        parser_revision=revisions.parser_revision,
        chunker_revision=revisions.chunker_revision,
        lexical_revision=revisions.lexical_revision,
        model_revision=revisions.model_revision,
        vector_index_revision=revisions.vector_index_revision,
        reranker_revision=revisions.reranker_revision,
        ranking_profile=trace_pb2.RankingProfile(name=revisions.profile_name, digest=revisions.profile_digest),
        resource_count=revisions.resource_count,
        unit_count=revisions.unit_count,
    )


def latency_to_proto(latency: StageLatency) -> trace_pb2.StageLatency:
    """Convert the time in a stage."""
    return trace_pb2.StageLatency(stage=latency.stage.value, duration_us=latency.duration_us)


def failure_to_proto(failure: Failure) -> trace_pb2.Failure:
    """Convert a failure; its summary is bounded already."""
    return trace_pb2.Failure(stage=failure.stage.value, code=failure.code, summary=failure.summary)


def resource_to_proto(resource: Resource) -> trace_pb2.Resource:
    """Convert a resource, which here is without its body."""
    return trace_pb2.Resource(
        resource_id=resource.resource_id,
        layer=LAYERS[resource.layer],
        kind=resource.kind,
        path=resource.path,
        title=resource.title,
        media_type=resource.media_type,
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        parse_state=PARSE_STATES[resource.parse_state],
    )


def delta_action_to_proto(action: DeltaAction | None) -> trace_pb2.DeltaAction.ValueType:
    """Convert an action; None is for a candidate that was not selected."""
    return DELTA_ACTIONS[action]


def run_state_to_proto(state: RunState) -> history_service_pb2.RetrievalRun.State.ValueType:
    """Convert how far a Run came."""
    return RUN_STATES[state]

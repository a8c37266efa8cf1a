"""Messages to domain values and back. What comes in is checked here, field by field."""

from typing import Any

from history_service.domain import limits
from history_service.domain.case import EvaluationCase, Judgment
from history_service.domain.errors import FieldInvalid
from history_service.domain.run import (
    Failure,
    Revisions,
    Run,
    RunEnd,
    RunFilter,
    RunStart,
    RunState,
    StageLatency,
)
from history_service.rpc.fields import checked_count, checked_digest, checked_text, microseconds, timestamp
from history_service.rpc.words import JUDGMENT_SOURCE_NUMBERS, RUN_STATE_NUMBERS, RUN_STATES
from ranktrail.evaluation.v1 import evaluation_service_pb2
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2

_REVISION_TEXTS = (
    "index_revision",
    "parser_revision",
    "chunker_revision",
    "lexical_revision",
    "model_revision",
    "vector_index_revision",
    "reranker_revision",
)
_END_OPTIONALS = ("query_token_count", "query_tokens_encoded", "returned_fragment_count", "returned_token_count")


def run_start(run_id: str, message: pb.RunStarted) -> RunStart:
    """Read how a Run begins; raise FieldInvalid."""
    if not message.HasField("create_time"):
        raise FieldInvalid("started.create_time", "is missing: send it")
    return RunStart(
        run_id=run_id,
        project_id=checked_text("started.project_id", message.project_id, limits.MAX_PROJECT_ID_BYTES),
        query=checked_text("started.query", message.query, limits.MAX_QUERY_BYTES),
        purpose=checked_text("started.purpose", message.purpose, limits.MAX_PURPOSE_BYTES),
        activation_state_fingerprint=checked_digest(
            "started.activation_state_fingerprint", message.activation_state_fingerprint
        ),
        ranker_instance_id=checked_text(
            "started.ranker_instance_id", message.ranker_instance_id, limits.MAX_INSTANCE_ID_BYTES
        ),
        create_time_us=microseconds("started.create_time", message.create_time),
    )


def revisions(message: trace_pb2.Revisions) -> Revisions:
    """Read a Run's revisions; raise FieldInvalid. Counts mean something only beside what they count."""
    texts = {name: _optional_text(f"revisions.{name}", getattr(message, name)) for name in _REVISION_TEXTS}
    memory, profile = message.effective_memory_hash, message.ranking_profile
    return Revisions(
        effective_memory_hash=checked_digest("revisions.effective_memory_hash", memory) if memory else None,
        profile_name=_optional_text("revisions.ranking_profile.name", profile.name),
        profile_digest=_optional_text("revisions.ranking_profile.digest", profile.digest),
        resource_count=checked_count("revisions.resource_count", message.resource_count) if memory else None,
        unit_count=checked_count("revisions.unit_count", message.unit_count) if message.index_revision else None,
        **texts,
    )


def run_end(message: pb.RunFinished) -> RunEnd:
    """Read how a Run ended; raise FieldInvalid."""
    state = RUN_STATES.get(message.state)
    if state not in (RunState.SUCCEEDED, RunState.FAILED):
        raise FieldInvalid("finished.state", "must be succeeded or failed")
    if message.HasField("failure") != (state is RunState.FAILED):
        raise FieldInvalid("finished.failure", "must be there exactly when the state is failed")
    if not message.HasField("complete_time"):
        raise FieldInvalid("finished.complete_time", "is missing: send it")
    optionals = {name: _optional_count(message, name) for name in _END_OPTIONALS}
    for name in _END_OPTIONALS[2:]:
        if state is RunState.SUCCEEDED and optionals[name] is None:
            raise FieldInvalid(f"finished.{name}", "is missing: a succeeded Run has it")
    return RunEnd(
        state=state,
        complete_time_us=microseconds("finished.complete_time", message.complete_time),
        stage_latencies=_latencies(message),
        cold=message.cold,
        failure=_failure(message.failure) if message.HasField("failure") else None,
        candidate_count=checked_count("finished.candidate_count", message.candidate_count),
        candidates_digest=checked_digest("finished.candidates_digest", message.candidates_digest),
        **optionals,
    )


def run_filter(request: pb.ListRetrievalRunsRequest) -> RunFilter:
    """Read which Runs to list; raise FieldInvalid."""
    if request.state != pb.RetrievalRun.STATE_UNSPECIFIED and request.state not in RUN_STATES:
        raise FieldInvalid("state", "must be running, succeeded, failed, or unspecified for all")
    start = microseconds("create_time_from", request.create_time_from, round_up=True)
    end = microseconds("create_time_to", request.create_time_to, round_up=True)
    return RunFilter(
        project_id=checked_text("project_id", request.project_id, limits.MAX_PROJECT_ID_BYTES, required=False) or None,
        state=RUN_STATES.get(request.state),
        query_text=checked_text("query_text", request.query_text, limits.MAX_QUERY_TEXT_BYTES, required=False) or None,
        create_time_from_us=start if request.HasField("create_time_from") else None,
        create_time_to_us=end if request.HasField("create_time_to") else None,
        pinned=request.pinned if request.HasField("pinned") else None,
    )


def run_message(run: Run) -> pb.RetrievalRun:
    """Return a Run as a message; what is not known stays absent."""
    start, revised = run.start, run.revisions
    return pb.RetrievalRun(
        run_id=start.run_id,
        project_id=start.project_id,
        query=start.query,
        purpose=start.purpose,
        state=RUN_STATE_NUMBERS[run.state],  # type: ignore[arg-type]
        activation_state_fingerprint=start.activation_state_fingerprint,
        effective_memory_hash=revised.effective_memory_hash,
        index_revision=revised.index_revision,
        parser_revision=revised.parser_revision,
        chunker_revision=revised.chunker_revision,
        lexical_revision=revised.lexical_revision,
        model_revision=revised.model_revision,
        vector_index_revision=revised.vector_index_revision,
        reranker_revision=revised.reranker_revision,
        resource_count=revised.resource_count,
        unit_count=revised.unit_count,
        ranking_profile=_profile(revised),
        create_time=timestamp(start.create_time_us),
        evaluation_case_id=run.evaluation_case_id,
        ranker_instance_id=start.ranker_instance_id,
        sequence=run.sequence,
        change_sequence=run.change_sequence,
        **({} if run.end is None else _end_fields(run.end)),
    )


def case_message(case: EvaluationCase) -> evaluation_service_pb2.EvaluationCase:
    """Return a case as a message."""
    return evaluation_service_pb2.EvaluationCase(
        case_id=case.case_id,
        run_id=case.run_id,
        project_id=case.project_id,
        query=case.query,
        corpus_hash=case.corpus_hash,
        resource_count=case.resource_count,
        category=case.category,
        notes=case.notes,
        judgment_version=case.judgment_version,
        judgment_count=case.judgment_count,
        human_judged=case.human_judged,
        create_time=timestamp(case.create_time_us),
        judge_time=None if case.judge_time_us is None else timestamp(case.judge_time_us),
        judgment_author=case.judgment_author,
    )


def judgment_message(judgment: Judgment) -> evaluation_service_pb2.EvaluationJudgment:
    """Return a judgment as a message."""
    return evaluation_service_pb2.EvaluationJudgment(
        resource_id=judgment.resource_id,
        unit_key=judgment.unit_key,
        relevance=judgment.relevance,
        missed=judgment.missed,
        notes=judgment.notes,
        source=JUDGMENT_SOURCE_NUMBERS[judgment.source],  # type: ignore[arg-type]
    )


def _profile(revised: Revisions) -> trace_pb2.RankingProfile | None:
    if revised.profile_name is None:
        return None
    return trace_pb2.RankingProfile(name=revised.profile_name, digest=revised.profile_digest or "")


def _end_fields(end: RunEnd) -> dict[str, Any]:
    return {
        "query_token_count": end.query_token_count,
        "query_tokens_encoded": end.query_tokens_encoded,
        "stage_latencies": [
            trace_pb2.StageLatency(stage=item.stage, duration_us=item.duration_us) for item in end.stage_latencies
        ],
        "cold": end.cold,
        "returned_fragment_count": end.returned_fragment_count,
        "returned_token_count": end.returned_token_count,
        "failure": None if end.failure is None else _failure_message(end.failure),
        "complete_time": timestamp(end.complete_time_us),
        "candidate_count": end.candidate_count,
    }


def _failure_message(failure: Failure) -> trace_pb2.Failure:
    return trace_pb2.Failure(stage=failure.stage, code=failure.code, summary=failure.summary)


def _optional_text(field: str, text: str) -> str | None:
    return checked_text(field, text, limits.MAX_REVISION_BYTES, required=False) or None


def _optional_count(message: pb.RunFinished, name: str) -> int | None:
    if not message.HasField(name):  # type: ignore[arg-type]
        return None
    return checked_count(f"finished.{name}", getattr(message, name))


def _latencies(message: pb.RunFinished) -> tuple[StageLatency, ...]:
    if len(message.stage_latencies) > limits.MAX_STAGE_LATENCIES:
        limit = limits.MAX_STAGE_LATENCIES
        raise FieldInvalid("finished.stage_latencies", f"are more than {limit}", limit)
    return tuple(
        StageLatency(
            checked_text("finished.stage_latencies.stage", item.stage, limits.MAX_STAGE_BYTES),
            checked_count("finished.stage_latencies.duration_us", item.duration_us),
        )
        for item in message.stage_latencies
    )


def _failure(message: trace_pb2.Failure) -> Failure:
    return Failure(
        stage=checked_text("finished.failure.stage", message.stage, limits.MAX_STAGE_BYTES),
        code=checked_text("finished.failure.code", message.code, limits.MAX_FAILURE_CODE_BYTES),
        summary=checked_text(
            "finished.failure.summary", message.summary, limits.MAX_FAILURE_SUMMARY_BYTES, required=False
        ),
    )

"""Enum numbers as their stable JSON words, and back. None stands for unspecified."""

from history_service.domain.run import RunState
from ranktrail.evaluation.v1 import evaluation_service_pb2
from ranktrail.history.v1 import history_service_pb2
from ranktrail.trace.v1 import trace_pb2

RUN_STATES: dict[int, RunState] = {
    history_service_pb2.RetrievalRun.STATE_RUNNING: RunState.RUNNING,
    history_service_pb2.RetrievalRun.STATE_SUCCEEDED: RunState.SUCCEEDED,
    history_service_pb2.RetrievalRun.STATE_FAILED: RunState.FAILED,
}
LAYERS: dict[int, str] = {
    trace_pb2.LAYER_ORGANIZATION: "organization",
    trace_pb2.LAYER_PROJECT: "project",
    trace_pb2.LAYER_DRAFT: "draft",
}
PARSE_STATES: dict[int, str | None] = {
    trace_pb2.PARSE_STATE_UNSPECIFIED: None,
    trace_pb2.PARSE_STATE_PARSED: "parsed",
    trace_pb2.PARSE_STATE_NOT_UTF8: "not_utf8",
    trace_pb2.PARSE_STATE_NO_PARSER: "no_parser",
    trace_pb2.PARSE_STATE_BLANK: "blank",
}
EXCLUSION_REASONS: dict[int, str | None] = {
    trace_pb2.EXCLUSION_REASON_UNSPECIFIED: None,
    trace_pb2.EXCLUSION_REASON_NOT_RERANKED: "not_reranked",
    trace_pb2.EXCLUSION_REASON_FRAGMENT_LIMIT: "fragment_limit",
    trace_pb2.EXCLUSION_REASON_BELOW_RELEVANCE: "below_relevance",
    trace_pb2.EXCLUSION_REASON_OVERLAP: "overlap",
    trace_pb2.EXCLUSION_REASON_PER_RESOURCE_LIMIT: "per_resource_limit",
    trace_pb2.EXCLUSION_REASON_TOKEN_BUDGET: "token_budget",
    trace_pb2.EXCLUSION_REASON_RUN_FAILED: "run_failed",
}
DELTA_ACTIONS: dict[int, str | None] = {
    trace_pb2.DELTA_ACTION_UNSPECIFIED: None,
    trace_pb2.DELTA_ACTION_ADD: "add",
    trace_pb2.DELTA_ACTION_REPLACE: "replace",
    trace_pb2.DELTA_ACTION_REUSE: "reuse",
}
JUDGMENT_SOURCES: dict[int, str] = {
    evaluation_service_pb2.EvaluationJudgment.SOURCE_HUMAN: "human",
    evaluation_service_pb2.EvaluationJudgment.SOURCE_IMPORT: "import",
    evaluation_service_pb2.EvaluationJudgment.SOURCE_MODEL: "model",
}

RUN_STATE_NUMBERS = {state: number for number, state in RUN_STATES.items()}
LAYER_NUMBERS = {word: number for number, word in LAYERS.items()}
PARSE_STATE_NUMBERS = {word: number for number, word in PARSE_STATES.items()}
EXCLUSION_REASON_NUMBERS = {word: number for number, word in EXCLUSION_REASONS.items()}
DELTA_ACTION_NUMBERS = {word: number for number, word in DELTA_ACTIONS.items()}
JUDGMENT_SOURCE_NUMBERS = {word: number for number, word in JUDGMENT_SOURCES.items()}

"""The closed sets of the domain as enums of the contract. None is the contract's `_UNSPECIFIED`, its zero."""

from ranker_service.domain.candidate import DeltaAction, ExclusionReason
from ranker_service.domain.resource import Layer, ParseState
from ranker_service.domain.trace import RunState
from ranktrail.history.v1 import history_service_pb2
from ranktrail.trace.v1 import trace_pb2

LAYERS: dict[Layer, trace_pb2.Layer.ValueType] = {
    Layer.ORGANIZATION: trace_pb2.LAYER_ORGANIZATION,
    Layer.PROJECT: trace_pb2.LAYER_PROJECT,
    Layer.DRAFT: trace_pb2.LAYER_DRAFT,
}

PARSE_STATES: dict[ParseState, trace_pb2.ParseState.ValueType] = {
    ParseState.PARSED: trace_pb2.PARSE_STATE_PARSED,
    ParseState.NOT_UTF8: trace_pb2.PARSE_STATE_NOT_UTF8,
    ParseState.NO_PARSER: trace_pb2.PARSE_STATE_NO_PARSER,
    ParseState.BLANK: trace_pb2.PARSE_STATE_BLANK,
}

EXCLUSION_REASONS: dict[ExclusionReason | None, trace_pb2.ExclusionReason.ValueType] = {
    None: trace_pb2.EXCLUSION_REASON_UNSPECIFIED,
    ExclusionReason.NOT_RERANKED: trace_pb2.EXCLUSION_REASON_NOT_RERANKED,
    ExclusionReason.FRAGMENT_LIMIT: trace_pb2.EXCLUSION_REASON_FRAGMENT_LIMIT,
    ExclusionReason.BELOW_RELEVANCE: trace_pb2.EXCLUSION_REASON_BELOW_RELEVANCE,
    ExclusionReason.OVERLAP: trace_pb2.EXCLUSION_REASON_OVERLAP,
    ExclusionReason.PER_RESOURCE_LIMIT: trace_pb2.EXCLUSION_REASON_PER_RESOURCE_LIMIT,
    ExclusionReason.TOKEN_BUDGET: trace_pb2.EXCLUSION_REASON_TOKEN_BUDGET,
    ExclusionReason.RUN_FAILED: trace_pb2.EXCLUSION_REASON_RUN_FAILED,
}

DELTA_ACTIONS: dict[DeltaAction | None, trace_pb2.DeltaAction.ValueType] = {
    None: trace_pb2.DELTA_ACTION_UNSPECIFIED,
    DeltaAction.ADD: trace_pb2.DELTA_ACTION_ADD,
    DeltaAction.REPLACE: trace_pb2.DELTA_ACTION_REPLACE,
    DeltaAction.REUSE: trace_pb2.DELTA_ACTION_REUSE,
}

RUN_STATES: dict[RunState, history_service_pb2.RetrievalRun.State.ValueType] = {
    RunState.RUNNING: history_service_pb2.RetrievalRun.STATE_RUNNING,
    RunState.SUCCEEDED: history_service_pb2.RetrievalRun.STATE_SUCCEEDED,
    RunState.FAILED: history_service_pb2.RetrievalRun.STATE_FAILED,
}

"""What a command left behind, and what the services answer it with."""

import json
from collections.abc import Callable
from typing import Any

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2


def a_run(run_id: str = "RUN1", **values: Any) -> history_pb2.GetRetrievalRunResponse:
    run = history_pb2.RetrievalRun(
        run_id=run_id, project_id="p", query="how", state=history_pb2.RetrievalRun.STATE_SUCCEEDED, **values
    )
    candidate = trace_pb2.Candidate(
        unit_key="a.md#x/0/0",
        bm25_rank=1,
        bm25_score=-0.25,
        rrf_rank=1,
        rrf_score=1 / 61,
        final_rank=1,
        final_stage="rrf",
        exclusion_reason=trace_pb2.EXCLUSION_REASON_TOKEN_BUDGET,
    )
    return history_pb2.GetRetrievalRunResponse(run=run, candidates=[candidate])


def a_reply(**fragment: Any) -> ranker_pb2.ActivateMemoryResponse:
    return ranker_pb2.ActivateMemoryResponse(
        run_id="RUN1",
        fragments=[
            ranker_pb2.Fragment(**{"path": "a.md", "action": trace_pb2.DELTA_ACTION_ADD, "content": "text", **fragment})
        ],
        next_activation_state=b"known",
    )


class Ended:
    """What a command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]

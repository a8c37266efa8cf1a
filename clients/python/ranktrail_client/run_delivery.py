"""Runs that are still on their way from the ranker's journal to history."""

import time
from collections.abc import Callable

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError, RunNotFound

PATIENCE_SECONDS = 10.0
STEP_SECONDS = 0.05


def delivered_run(
    client: Client,
    run_id: str,
    patience: float = PATIENCE_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    on_wait: Callable[[], None] | None = None,
) -> history_pb2.GetRetrievalRunResponse:
    """Return a Run once it is terminal, or as it is after `patience` seconds; `on_wait` is called before a first wait.

    Raises RunNotFound as soon as no ranker has anything left to deliver, and after `patience` seconds.
    """
    deadline = clock() + patience
    while True:
        # Asked before history is: what an idle recorder had, history has.
        is_idle = _recorder_is_idle(client)
        try:
            found = client.history.get_retrieval_run(history_pb2.GetRetrievalRunRequest(run_id=run_id))
        except RunNotFound:
            if is_idle or clock() > deadline:
                raise
        else:
            if found.run.state != history_pb2.RetrievalRun.STATE_RUNNING or clock() > deadline:
                return found
        if on_wait is not None:
            on_wait()
            on_wait = None
        sleep(STEP_SECONDS)


def _recorder_is_idle(client: Client) -> bool:
    try:
        recorder = client.ranker.get_runtime(timeout=2.0).recorder
    except RanktrailError:
        return True
    return recorder.state == ranker_pb2.RecorderRuntime.STATE_OFF or recorder.pending_run_count == 0

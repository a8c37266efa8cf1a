"""Runs that are still on their way from the ranker's journal to history."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_client.client import AsyncClient, Client
from ranktrail_client.errors import RanktrailError, RunNotFound

PATIENCE_SECONDS = 10.0
STEP_SECONDS = 0.05
RUNTIME_SECONDS = 2.0

Found = TypeVar("Found")


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


async def async_delivered(
    client: AsyncClient, find: Callable[[], Awaitable[Found | None]], patience: float = PATIENCE_SECONDS
) -> Found | None:
    """Return what `find` finds in history; None once no ranker has anything to deliver, or after `patience` seconds.

    `find` returns None for what is not there, or not terminal, yet.
    """
    deadline = time.monotonic() + patience
    while True:
        # Asked before history is: what an idle recorder had, history has.
        is_idle = await _async_recorder_is_idle(client)
        found = await find()
        if found is not None or is_idle or time.monotonic() > deadline:
            return found
        await asyncio.sleep(STEP_SECONDS)


def _recorder_is_idle(client: Client) -> bool:
    try:
        return _has_delivered(client.ranker.get_runtime(timeout=RUNTIME_SECONDS))
    except RanktrailError:
        return True


async def _async_recorder_is_idle(client: AsyncClient) -> bool:
    try:
        return _has_delivered(await client.ranker.get_runtime(timeout=RUNTIME_SECONDS))
    except RanktrailError:
        return True


def _has_delivered(runtime: ranker_pb2.GetRuntimeResponse) -> bool:
    recorder = runtime.recorder
    return recorder.state == ranker_pb2.RecorderRuntime.STATE_OFF or recorder.pending_run_count == 0

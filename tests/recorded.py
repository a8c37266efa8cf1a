"""Runs as history has them."""

import contextlib
import time

import grpc

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub

ARRIVAL_SECONDS = 60.0


def recorded(stub: HistoryServiceStub, run_id: str) -> pb.GetRetrievalRunResponse:
    """Wait until a Run is terminal in history, and return it."""
    until = time.monotonic() + ARRIVAL_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(grpc.RpcError):
            response = stub.GetRetrievalRun(pb.GetRetrievalRunRequest(run_id=run_id), timeout=5)
            if response.run.state != pb.RetrievalRun.STATE_RUNNING:
                return response
        time.sleep(0.02)
    raise AssertionError(f"Run {run_id} did not reach history")

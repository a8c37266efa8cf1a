"""What a refused call said."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status


@dataclass(frozen=True)
class Refusal:
    """Status code, reason, metadata and sentence of an error."""

    code: grpc.StatusCode
    reason: str
    metadata: dict[str, str]
    message: str


def refusal_of(error: grpc.RpcError) -> Refusal:
    """Decode an error's one ErrorInfo."""
    status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None, error
    assert len(status.details) == 1
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "ranktrail"
    assert len(status.message.encode()) <= 1_024
    return Refusal(error.code(), info.reason, dict(info.metadata), status.message)  # type: ignore[attr-defined]


def refused(call: Callable[[], Any]) -> Refusal:
    """Make a call that must be refused and decode how."""
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return refusal_of(caught.value)

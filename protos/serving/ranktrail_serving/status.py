"""A domain error as a gRPC status: code, one sentence, and one google.rpc.ErrorInfo."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

MAX_MESSAGE_BYTES = 1_024
"""Of a status message, as it travels: percent-encoded."""
MAX_METADATA_BYTES = 256
"""Of one metadata value; longer ones are cut, since a status travels in headers of 8 KiB."""
DOMAIN = "ranktrail"
INTERNAL_MESSAGE = "the server failed: its log says why"


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """What one class of domain errors is on the wire. `metadata` reads an error of that class."""

    code: grpc.StatusCode
    reason: str
    metadata: Callable[[Any], Mapping[str, str]] = lambda _error: {}


INTERNAL = ErrorRow(grpc.StatusCode.INTERNAL, "INTERNAL")


def encoded_size(character: str) -> int:
    """Return the bytes of a character in a grpc-message header, where all but printable ASCII is percent-encoded."""
    return 1 if " " <= character <= "~" and character != "%" else 3 * len(character.encode("utf-8", "replace"))


def cut_to_encoded_bytes(text: str, limit: int) -> str:
    """Return the longest start of `text` that takes at most `limit` percent-encoded bytes."""
    size = 0
    for position, character in enumerate(text):
        size += encoded_size(character)
        if size > limit:
            return text[:position]
    return text


def status_of(row: ErrorRow, error: Exception) -> status_pb2.Status:
    """Return the google.rpc.Status of an error; the text of an INTERNAL one stays in the log."""
    message = INTERNAL_MESSAGE if row is INTERNAL else str(error)
    info = error_details_pb2.ErrorInfo(reason=row.reason, domain=DOMAIN)
    for key, value in metadata_of(row, error).items():
        info.metadata[key] = value
    detail = any_pb2.Any()
    detail.Pack(info)
    return status_pb2.Status(code=row.code.value[0], message=sent_text(message), details=[detail])


def metadata_of(row: ErrorRow, error: Exception) -> dict[str, str]:
    """Return the row's metadata of an error, each value cut to what a header holds."""
    return {key: _sendable(cut_to_encoded_bytes(text, MAX_METADATA_BYTES)) for key, text in row.metadata(error).items()}


def sent_text(message: str) -> str:
    """Return a message as it may be sent: at most 1,024 encoded bytes and valid UTF-8."""
    return _sendable(cut_to_encoded_bytes(message, MAX_MESSAGE_BYTES))


def grpc_status(row: ErrorRow, error: Exception) -> grpc.Status:
    """Return the status that `ServicerContext.abort_with_status` takes."""
    return rpc_status.to_status(status_of(row, error))


def refusing_handler(row: ErrorRow, error: Exception) -> "grpc.RpcMethodHandler[Any, Any]":
    """Return a handler that refuses at once: a stream handler waits for no request, so it suits every kind of call."""

    def refuse(_requests: Any, context: grpc.ServicerContext) -> Any:
        context.abort_with_status(grpc_status(row, error))

    return grpc.stream_stream_rpc_method_handler(refuse)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

"""Domain errors as gRPC statuses: the one table and the one interceptor that map them."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeAlias

import grpc
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from ranker_service.domain import errors
from ranker_service.domain.limits import STATUS_MESSAGE_BYTES
from ranker_service.rpc.malformed import MalformedRequest, tolerant
from ranktrail.errors.v1.error_reason_pb2 import ErrorReason

_LOG = logging.getLogger(__name__)
DOMAIN = "ranktrail"
_TRY_AGAIN_CODES = frozenset({"activation_deadline", "index_damaged"})

Mapping: TypeAlias = tuple[int, str, dict[str, object]]


def mapping_of(error: errors.RankerError) -> Mapping:
    """Return the status code, the reason and the metadata of a domain error."""
    if isinstance(error, errors.RunFailed):
        code, reason, metadata = mapping_of(error.cause)
        return code, reason, {"run_id": error.run_id, **metadata}
    for kind in type(error).__mro__:
        if kind in _TABLE:
            return _TABLE[kind](error)
    raise LookupError(f"{type(error).__name__} has no status")


_TABLE: dict[type, Callable[[Any], Mapping]] = {
    errors.FieldInvalid: lambda e: (code_pb2.INVALID_ARGUMENT, "FIELD_INVALID", {"field": e.field, "limit": e.limit}),
    errors.PageTokenInvalid: lambda _: (code_pb2.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID", {"field": "page_token"}),
    errors.ProjectNotFound: lambda e: (code_pb2.NOT_FOUND, "PROJECT_NOT_FOUND", {"project_id": e.project_id}),
    errors.IndexNotReady: lambda e: (code_pb2.FAILED_PRECONDITION, "INDEX_NOT_READY", {"project_id": e.project_id}),
    errors.ResourceIdConflict: lambda e: (
        code_pb2.INVALID_ARGUMENT,
        "RESOURCE_ID_CONFLICT",
        {"resource_id": e.resource_id, "path": e.path, "other_path": e.other_path},
    ),
    errors.CommitConflict: lambda e: (
        code_pb2.ABORTED,
        "COMMIT_CONFLICT",
        {"expected": e.expected, "current": e.current},
    ),
    errors.BlobDigestMismatch: lambda e: (code_pb2.INVALID_ARGUMENT, "BLOB_DIGEST_MISMATCH", {"digest": e.digest}),
    errors.Overloaded: lambda e: (
        code_pb2.RESOURCE_EXHAUSTED,
        "OVERLOADED",
        {"limit": e.limit, "retry_after_ms": e.retry_after_ms},
    ),
    errors.ActivationStateInvalid: lambda _: (code_pb2.INVALID_ARGUMENT, "INVALID_ACTIVATION_STATE", {}),
    errors.StageFailed: lambda e: (
        code_pb2.UNAVAILABLE if e.code in _TRY_AGAIN_CODES else code_pb2.INTERNAL,
        "RANKING_FAILED",
        {"stage": e.stage.value, "code": e.code},
    ),
}


def status_of(error: Exception) -> status_pb2.Status:
    """Return the status of a domain error, or INTERNAL with a fixed text for any other."""
    if not isinstance(error, errors.RankerError):
        return _status(code_pb2.INTERNAL, "INTERNAL", "internal error: the server's log says more", {})
    code, reason, metadata = mapping_of(error)
    return _status(code, reason, str(error), metadata)


def _status(code: int, reason: str, message: str, metadata: dict[str, object]) -> status_pb2.Status:
    ErrorReason.Value(f"ERROR_REASON_{reason}")
    info = error_details_pb2.ErrorInfo(
        reason=reason,
        domain=DOMAIN,
        metadata={key: cut(str(value)) for key, value in metadata.items() if value is not None},
    )
    detail = any_pb2.Any()
    detail.Pack(info)
    return status_pb2.Status(code=code, message=cut(message), details=[detail])


def cut(text: str) -> str:
    """Return the longest prefix of `text` whose percent-encoded form, as gRPC sends it, has at most 1,024 bytes.

    A longer message can turn the status into RESOURCE_EXHAUSTED on its way.
    """
    size = 0
    for i, character in enumerate(text):
        encoded = character.encode("utf-8", "replace")
        size += sum(1 if 0x20 <= byte <= 0x7E and byte != 0x25 else 3 for byte in encoded)  # noqa: PLR2004 - RFC 3986
        if size > STATUS_MESSAGE_BYTES:
            return text[:i]
    return text


def refusing(code: int, reason: str, message: str) -> Any:
    """Return a handler that refuses every call with this status."""

    def refuse(_: Any, context: grpc.ServicerContext) -> NoReturn:
        context.abort_with_status(rpc_status.to_status(_status(code, reason, message, {})))

    return grpc.unary_unary_rpc_method_handler(refuse)


class StatusInterceptor(grpc.ServerInterceptor):
    """Turns what a servicer raises into a status, and bytes that are no request into FIELD_INVALID."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method's handler."""
        handler = continuation(handler_call_details)
        return None if handler is None else _wrapped(handler, handler_call_details.method)


def _wrapped(handler: Any, method: str) -> Any:
    behaviour = handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    make = _streaming if handler.response_streaming else _answering
    wrapped = make(behaviour, handler.request_streaming, method)
    for attribute in ("experimental_thread_pool", "experimental_non_blocking"):
        if hasattr(behaviour, attribute):
            setattr(wrapped, attribute, getattr(behaviour, attribute))
    kinds = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    kind: Any = kinds[handler.request_streaming, handler.response_streaming]
    return kind(wrapped, tolerant(handler.request_deserializer), handler.response_serializer)


def _answering(behaviour: Callable[[Any, Any], Any], request_streaming: bool, method: str) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            return behaviour(_checked(request, request_streaming), context)
        except Exception as error:
            _abort(context, error, method)

    return call


def _streaming(
    behaviour: Callable[[Any, Any], Any], request_streaming: bool, method: str
) -> Callable[[Any, Any], Iterator[Any]]:
    def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from behaviour(_checked(request, request_streaming), context)
        except Exception as error:
            _abort(context, error, method)

    return call


def _checked(request: Any, request_streaming: bool) -> Any:
    return map(_well_formed, request) if request_streaming else _well_formed(request)


def _well_formed(request: Any) -> Any:
    if isinstance(request, MalformedRequest):
        raise errors.FieldInvalid(request.field, "is not valid: send UTF-8 text and the contract's wire format")
    return request


def _abort(context: grpc.ServicerContext, error: Exception, method: str) -> NoReturn:
    if not context.is_active():
        raise error
    if not isinstance(error, errors.RankerError):
        _LOG.error("%s failed", method, exc_info=error)
    context.abort_with_status(rpc_status.to_status(status_of(error)))
    raise AssertionError("abort_with_status always raises")

"""Stands before every method: admits it, parses its requests, and turns what it raises into a status."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError

from ranktrail_serving.bearer import HEALTH_METHODS
from ranktrail_serving.errors import MethodUnknown, RequestUnparsable
from ranktrail_serving.limits import CallLimits
from ranktrail_serving.status import INTERNAL, ErrorRow, grpc_status, refusing_handler
from ranktrail_serving.wire_walk import unparsable_field

logger = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
MaybeHandler: TypeAlias = "grpc.RpcMethodHandler[Any, Any] | None"
Context = grpc.ServicerContext


class Parser:
    """Turns bytes into requests of one method.

    gRPC's own step would answer bad bytes with INTERNAL and name no field, and would run in the one thread that serves
    all calls.
    """

    def __init__(self, method: str, deserialize: Callable[[bytes], Any]) -> None:
        self._method = method
        self._deserialize = deserialize

    def parse(self, raw: bytes) -> Any:
        """Return the message; raise RequestUnparsable, which names the field, when the bytes are not one."""
        try:
            return self._deserialize(raw)
        except DecodeError as error:
            field, problem = unparsable_field(raw, self._descriptor())
            raise RequestUnparsable(field, problem, raw) from error

    def _descriptor(self) -> Descriptor:
        name = self._method.lstrip("/").replace("/", ".")
        return descriptor_pool.Default().FindMethodByName(name).input_type


class Requests:
    """The requests of one stream; one that does not parse raises RequestUnparsable, and the next call goes on."""

    def __init__(self, raws: Iterator[bytes], parser: Parser) -> None:
        self._raws = raws
        self._parser = parser

    def __iter__(self) -> "Requests":
        return self

    def __next__(self) -> Any:
        return self._parser.parse(next(self._raws))


class CallInterceptor(grpc.ServerInterceptor):
    """Guards every method but those of the health service. `row_of` says what an error is on the wire."""

    def __init__(self, limits: CallLimits, row_of: Callable[[Exception], ErrorRow]) -> None:
        self._limits = limits
        self._row_of = row_of

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], MaybeHandler],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> MaybeHandler:
        """Return the method's handler with its guard around it, or one that refuses an unknown method."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if method.startswith(HEALTH_METHODS):
            return handler
        if handler is None:
            error = MethodUnknown(method)
            return refusing_handler(self._row_of(error), error)
        return _guarded(handler, _Guard(method, handler, self._limits, self._row_of))


class _Guard:
    """One method's guard, in the two forms that a method can answer in."""

    def __init__(
        self, method: str, handler: Handler, limits: CallLimits, row_of: Callable[[Exception], ErrorRow]
    ) -> None:
        self._method = method
        self._parser = Parser(method, handler.request_deserializer)  # type: ignore[arg-type]
        self._streams = handler.request_streaming
        self._limits = limits
        self._row_of = row_of

    def answer(self, behavior: Callable[[Any, Context], Any]) -> Callable[[Any, Context], Any]:
        """Guard a method with one response."""

        def guarded(raw: Any, context: Context) -> Any:
            try:
                with self._limits.slot(self._method), self._ceiling(context) if self._streams else nullcontext():
                    return behavior(self._request(raw), context)
            except Exception as error:
                self._abort(error, context)

        return guarded

    def stream(self, behavior: Callable[[Any, Context], Any]) -> Callable[[Any, Context], Any]:
        """Guard a method with a stream of responses."""

        def guarded(raw: Any, context: Context) -> Iterator[Any]:
            try:
                with self._limits.slot(self._method), self._ceiling(context):
                    yield from behavior(self._request(raw), context)
            except Exception as error:
                self._abort(error, context)

        return guarded

    def _ceiling(self, context: Context) -> AbstractContextManager[None]:
        return self._limits.ceiling(self._method, context.cancel)

    def _request(self, raw: Any) -> Any:
        return Requests(raw, self._parser) if self._streams else self._parser.parse(raw)

    def _abort(self, error: Exception, context: Context) -> None:
        row = self._row_of(error)
        if row is INTERNAL and context.is_active():
            logger.error("%s failed", self._method, exc_info=error)
        context.abort_with_status(grpc_status(row, error))


def _guarded(handler: Handler, guard: _Guard) -> Handler:
    serializer = handler.response_serializer
    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(guard.stream(handler.stream_stream), None, serializer)  # type: ignore[arg-type]
    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(guard.answer(handler.stream_unary), None, serializer)  # type: ignore[arg-type]
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(guard.stream(handler.unary_stream), None, serializer)  # type: ignore[arg-type]
    return grpc.unary_unary_rpc_method_handler(guard.answer(handler.unary_unary), None, serializer)  # type: ignore[arg-type]

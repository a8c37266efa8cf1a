"""One service: its channel, and how calls to it wait, try again and fail."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TypeAlias, TypeVar, cast

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ranktrail_client.address import Address, Reach
from ranktrail_client.errors import NoAnswer, RanktrailError, ServiceUnreachable, decode

Request = TypeVar("Request")
Response = TypeVar("Response")

READ_DEADLINE = 30.0
WRITE_DEADLINE = 60.0
# Seconds before each further attempt of a read.
RETRY_DELAYS = (0.1, 0.2, 0.4)

_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.enable_http_proxy", 0),  # a proxy set for the web must not see a memory
    ("grpc.use_local_subchannel_pool", 1),  # one client's failed connection is not another's
)
# A service of this machine that was just started is found within a second.
_LOCAL_OPTIONS = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1_000))


class Link:
    """A connection to one service. Safe to call from any thread, and useless after a fork, which it says."""

    def __init__(
        self,
        service: str,
        address: Address,
        token: str | None = None,
        root_certificates: bytes | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.service = service
        self.address = address
        self._metadata = (("authorization", f"Bearer {token}"),) if token else ()
        self._sleep = sleep
        self._process = os.getpid()
        self.channel = _open(address, root_certificates)

    def close(self) -> None:
        """End every call under way and let go of the connection."""
        self.channel.close()

    def write(
        self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request, timeout: float
    ) -> Response:
        """Call once."""
        self._check_process()
        try:
            return method(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise self._decoded(error) from error

    def read(
        self, method: grpc.UnaryUnaryMultiCallable[Request, Response], request: Request, timeout: float
    ) -> Response:
        """Call, and call again with back-off while the service cannot be reached; `timeout` is for all of it."""
        deadline = time.monotonic() + timeout
        for delay in RETRY_DELAYS:
            try:
                return self.write(method, request, deadline - time.monotonic())
            except ServiceUnreachable as error:
                if not _is_worth_repeating(error) or time.monotonic() + delay >= deadline:
                    raise
                self._sleep(delay)
        return self.write(method, request, deadline - time.monotonic())

    def send(
        self,
        method: grpc.StreamUnaryMultiCallable[Request, Response],
        frames: Iterable[Request],
        timeout: float | None,
    ) -> Response:
        """Send `frames`, once. What `frames` raises reaches the caller as it is."""
        self._check_process()
        source = _Frames(frames)
        call = method.future(source, timeout=timeout, metadata=self._metadata)
        try:
            return call.result()
        except grpc.RpcError as error:
            raise source.failure or self._decoded(error) from error
        finally:
            call.cancel()

    def stream(
        self,
        method: grpc.UnaryStreamMultiCallable[Request, Response],
        request: Request,
        timeout: float | None,
    ) -> Iterator[Response]:
        """Yield what the service sends; begin again with back-off only while it has sent nothing."""
        delays = iter(RETRY_DELAYS)
        received = False
        while True:
            try:
                for response in self._open_stream(lambda: method(request, timeout=timeout, metadata=self._metadata)):
                    received = True
                    yield response
            except ServiceUnreachable as error:
                delay = next(delays, None)
                if received or delay is None or not _is_worth_repeating(error):
                    raise
                self._sleep(delay)
            else:
                return

    def exchange(
        self,
        method: grpc.StreamStreamMultiCallable[Request, Response],
        frames: Iterable[Request],
        timeout: float | None,
    ) -> Iterator[Response]:
        """Send `frames` and yield what the service answers, once."""
        source = _Frames(frames)
        try:
            yield from self._open_stream(lambda: method(source, timeout=timeout, metadata=self._metadata))
        except RanktrailError as error:
            raise source.failure or error from error

    def check_health(self, timeout: float) -> bool:
        """Say whether the service serves; raise ServiceUnreachable when nothing answers."""
        check = cast("_HealthMethod", health_pb2_grpc.HealthStub(self.channel).Check)  # type: ignore[attr-defined]
        response = self.write(check, health_pb2.HealthCheckRequest(service=""), timeout)
        return response.status == health_pb2.HealthCheckResponse.SERVING

    def _open_stream(self, start: Callable[[], Iterator[Response]]) -> Iterator[Response]:
        self._check_process()
        call = start()
        try:
            yield from call
        except grpc.RpcError as error:
            raise self._decoded(error) from error
        finally:
            with suppress(AttributeError):
                call.cancel()  # type: ignore[attr-defined]

    def _decoded(self, error: grpc.RpcError) -> RanktrailError:
        return decode(error, self.service, self.address.target)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("a Client does not survive a fork: connect in the process that calls")


def _is_worth_repeating(error: ServiceUnreachable) -> bool:
    """Say whether a moment later somebody may serve; a service that kept silent has had its time."""
    return not isinstance(error, NoAnswer)


_HealthMethod: TypeAlias = "grpc.UnaryUnaryMultiCallable[health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse]"


class _Frames(Iterator[Request]):
    """Frames of an upload that remember what stopped them, which gRPC tells as UNKNOWN."""

    def __init__(self, frames: Iterable[Request]) -> None:
        self._frames = iter(frames)
        self.failure: Exception | None = None

    def __next__(self) -> Request:
        try:
            return next(self._frames)
        except StopIteration:
            raise
        except Exception as error:
            self.failure = error
            raise


def _open(address: Address, root_certificates: bytes | None) -> grpc.Channel:
    if address.reach is Reach.REMOTE or root_certificates is not None:
        return grpc.secure_channel(address.target, grpc.ssl_channel_credentials(root_certificates), _OPTIONS)
    return grpc.insecure_channel(address.target, _OPTIONS + _LOCAL_OPTIONS)

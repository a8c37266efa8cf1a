"""One service for callers that wait: its channel, and how calls to it are made."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import grpc

from ranktrail_client import health
from ranktrail_client.attempts import Attempts
from ranktrail_client.endpoint import Endpoint
from ranktrail_client.errors import RanktrailError
from ranktrail_client.method import READ_DEADLINE, Method, Request, Response


class Link:
    """A connection to one service. Safe to call from any thread, and useless after a fork, which it says."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], None] = time.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self.channel = _open(endpoint)

    def close(self) -> None:
        """End every call under way and let go of the connection."""
        self.channel.close()

    def unary(
        self, method: Method[Request, Response], request: Request | None = None, timeout: float | None = None
    ) -> Response:
        """Call, and call again where that is safe and may help."""
        attempts = Attempts(method, request, timeout)
        call = self.channel.unary_unary(method.path, method.encode, method.decode)
        while True:
            self.endpoint.check_process()
            try:
                return call(attempts.request, timeout=attempts.timeout, metadata=self.endpoint.metadata)
            except grpc.RpcError as error:
                delay = attempts.delay_after(self.endpoint.decoded(error))
            self._sleep(delay)

    def stream(
        self, method: Method[Request, Response], request: Request | None = None, timeout: float | None = None
    ) -> Iterator[Response]:
        """Yield what the service sends; begin again while it has sent nothing, or go on where the method can."""
        attempts = Attempts(method, request, timeout)
        call = self.channel.unary_stream(method.path, method.encode, method.decode)
        while True:
            try:
                for response in self._received(
                    lambda: call(attempts.request, timeout=attempts.timeout, metadata=self.endpoint.metadata)
                ):
                    attempts.heard(response)
                    yield response
            except RanktrailError as error:
                delay = attempts.delay_after(error)
            else:
                return
            self._sleep(delay)

    def upload(
        self, method: Method[Request, Response], frames: Iterable[Request], timeout: float | None = None
    ) -> Response:
        """Send `frames`, once. What `frames` raises reaches the caller as it is."""
        self.endpoint.check_process()
        source = _Frames(frames)
        start = self.channel.stream_unary(method.path, method.encode, method.decode)
        seconds = method.deadline if timeout is None else timeout
        call = start.future(source, timeout=seconds, metadata=self.endpoint.metadata)
        try:
            return call.result()
        except grpc.RpcError as error:
            raise source.failure or self.endpoint.decoded(error) from error
        finally:
            call.cancel()

    def exchange(
        self, method: Method[Request, Response], frames: Iterable[Request], timeout: float | None = None
    ) -> Iterator[Response]:
        """Send `frames` and yield what the service answers, once. What `frames` raises reaches the caller as it is."""
        source = _Frames(frames)
        start = self.channel.stream_stream(method.path, method.encode, method.decode)
        try:
            yield from self._received(lambda: start(source, timeout=timeout, metadata=self.endpoint.metadata))
        except RanktrailError as error:
            raise source.failure or error from error.__cause__

    def _received(self, start: Callable[[], Iterator[Response]]) -> Iterator[Response]:
        self.endpoint.check_process()
        call = start()
        try:
            yield from call
        except grpc.RpcError as error:
            raise self.endpoint.decoded(error) from error
        finally:
            with suppress(AttributeError):
                call.cancel()  # type: ignore[attr-defined]


class Calls:
    """The calls to one service; its methods raise RanktrailError."""

    def __init__(self, link: Link) -> None:
        self.link = link

    @property
    def address(self) -> str:
        """Where the calls go."""
        return self.link.endpoint.address.target

    def check_health(self, timeout: float = READ_DEADLINE) -> bool:
        """Say whether the service serves; raise ServiceUnreachable when nothing answers."""
        return health.serves(self.link.unary(health.CHECK, None, timeout))


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


def _open(endpoint: Endpoint) -> grpc.Channel:
    credentials, target = endpoint.credentials, endpoint.address.target
    if credentials is None:
        return grpc.insecure_channel(target, endpoint.options)
    return grpc.secure_channel(target, credentials, endpoint.options)

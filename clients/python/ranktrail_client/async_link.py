# ruff: noqa: ASYNC109 - a deadline travels with the call
"""One service for coroutines: its channel, and how calls to it are made. `link` is the same for callers that wait."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic

import grpc
import grpc.aio

from ranktrail_client import health
from ranktrail_client.attempts import Attempts
from ranktrail_client.endpoint import Endpoint
from ranktrail_client.method import READ_DEADLINE, Method, Request, Response


class AsyncLink:
    """A connection to one service; it belongs to the loop that it was made in, and is useless after a fork."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self.channel = _open(endpoint)

    async def close(self) -> None:
        """End every call under way and let go of the connection."""
        await self.channel.close()

    async def unary(
        self, method: Method[Request, Response], request: Request | None = None, timeout: float | None = None
    ) -> Response:
        """Call, and call again where that is safe and may help."""
        attempts = Attempts(method, request, timeout)
        call = self.channel.unary_unary(method.path, method.encode, method.decode)
        while True:
            self.endpoint.check_process()
            try:
                return await call(attempts.request, timeout=attempts.timeout, metadata=self.endpoint.metadata)
            except grpc.RpcError as error:
                delay = attempts.delay_after(self.endpoint.decoded(error))
            await self._sleep(delay)

    async def stream(
        self, method: Method[Request, Response], request: Request | None = None, timeout: float | None = None
    ) -> AsyncIterator[Response]:
        """Yield what the service sends; begin again while it has sent nothing, or go on where the method can."""
        attempts = Attempts(method, request, timeout)
        start = self.channel.unary_stream(method.path, method.encode, method.decode)
        while True:
            self.endpoint.check_process()
            call = start(attempts.request, timeout=attempts.timeout, metadata=self.endpoint.metadata)
            try:
                async for response in call:
                    attempts.heard(response)
                    yield response
            except grpc.RpcError as error:
                delay = attempts.delay_after(self.endpoint.decoded(error))
            else:
                return
            finally:
                call.cancel()
            await self._sleep(delay)

    async def upload(
        self,
        method: Method[Request, Response],
        frames: Iterable[Request] | AsyncIterable[Request],
        timeout: float | None = None,
    ) -> Response:
        """Send `frames`, once. What `frames` raises reaches the caller as it is."""
        self.endpoint.check_process()
        source = _Frames(frames)
        start = self.channel.stream_unary(method.path, method.encode, method.decode)
        seconds = method.deadline if timeout is None else timeout
        call = start(source.sent(), timeout=seconds, metadata=self.endpoint.metadata)
        try:
            return await call
        except (grpc.RpcError, asyncio.CancelledError) as error:
            raise self._ending(source, error) from error
        finally:
            call.cancel()

    async def exchange(
        self,
        method: Method[Request, Response],
        frames: Iterable[Request] | AsyncIterable[Request],
        timeout: float | None = None,
    ) -> AsyncIterator[Response]:
        """Send `frames` and yield what the service answers, once. What `frames` raises reaches the caller as it is."""
        self.endpoint.check_process()
        source = _Frames(frames)
        start = self.channel.stream_stream(method.path, method.encode, method.decode)
        call = start(source.sent(), timeout=timeout, metadata=self.endpoint.metadata)
        try:
            async for response in call:
                yield response
        except (grpc.RpcError, asyncio.CancelledError) as error:
            raise self._ending(source, error) from error
        finally:
            call.cancel()

    def _ending(
        self, source: "_Frames[Request]", error: grpc.RpcError | asyncio.CancelledError
    ) -> Exception | asyncio.CancelledError:
        """Return what a call that sent frames failed with; gRPC cancels one whose frames raised."""
        if source.failure is not None:
            return source.failure
        return error if isinstance(error, asyncio.CancelledError) else self.endpoint.decoded(error)


class AsyncCalls:
    """The calls to one service; its methods raise RanktrailError."""

    def __init__(self, link: AsyncLink) -> None:
        self.link = link

    @property
    def address(self) -> str:
        """Where the calls go."""
        return self.link.endpoint.address.target

    async def check_health(self, timeout: float = READ_DEADLINE) -> bool:
        """Say whether the service serves; raise ServiceUnreachable when nothing answers."""
        return health.serves(await self.link.unary(health.CHECK, None, timeout))


class _Frames(Generic[Request]):
    """Frames of an upload that remember what stopped them."""

    def __init__(self, frames: Iterable[Request] | AsyncIterable[Request]) -> None:
        self._frames = frames
        self.failure: Exception | None = None

    async def sent(self) -> AsyncIterator[Request]:
        """Yield the frames."""
        try:
            if isinstance(self._frames, AsyncIterable):
                async for frame in self._frames:
                    yield frame
            else:
                for frame in self._frames:
                    yield frame
        except Exception as error:
            self.failure = error
            raise


def _open(endpoint: Endpoint) -> grpc.aio.Channel:
    credentials, target = endpoint.credentials, endpoint.address.target
    if credentials is None:
        return grpc.aio.insecure_channel(target, endpoint.options)
    return grpc.aio.secure_channel(target, credentials, endpoint.options)

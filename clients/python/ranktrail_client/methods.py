"""The four kinds of method, each as the call that it is.

A method stands once, in the table of its service (such as `ranker.RankerMethods`). The table is mixed into a group of
calls that wait and into one of calls that are awaited; a method that is read from a group is the call itself. A request
that is left out is the empty message; `timeout` is in seconds, by default the method's own deadline.
"""

from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, TypeVar, overload

from ranktrail_client.async_link import AsyncCalls
from ranktrail_client.link import Calls
from ranktrail_client.method import Method, Request, Response

Sent_contra = TypeVar("Sent_contra", contravariant=True)
Got_co = TypeVar("Got_co", covariant=True)


class Call(Protocol[Sent_contra, Got_co]):
    """A request that is answered."""

    def __call__(self, request: Sent_contra | None = None, timeout: float | None = None) -> Got_co:
        """Call; raise RanktrailError."""


class SendingCall(Protocol[Sent_contra, Got_co]):
    """Frames that are answered."""

    def __call__(self, frames: Iterable[Sent_contra], timeout: float | None = None) -> Got_co:
        """Call; raise RanktrailError, or what `frames` raises."""


class AsyncSendingCall(Protocol[Sent_contra, Got_co]):
    """As above; plain iterables run in the loop, so one that waits for a disk should be asynchronous."""

    def __call__(
        self, frames: Iterable[Sent_contra] | AsyncIterable[Sent_contra], timeout: float | None = None
    ) -> Got_co:
        """Call; raise RanktrailError, or what `frames` raises."""


class Unary(Method[Request, Response]):
    """One request, one response."""

    @overload
    def __get__(self, calls: Calls, table: type) -> Call[Request, Response]: ...
    @overload
    def __get__(self, calls: AsyncCalls, table: type) -> Call[Request, Coroutine[Any, Any, Response]]: ...
    def __get__(self, calls: Calls | AsyncCalls | None, table: type) -> Any:
        """Return the call; from a class, the method."""
        return self if calls is None else partial(calls.link.unary, self)


class Stream(Method[Request, Response]):
    """One request, a stream of responses."""

    @overload
    def __get__(self, calls: Calls, table: type) -> Call[Request, Iterator[Response]]: ...
    @overload
    def __get__(self, calls: AsyncCalls, table: type) -> Call[Request, AsyncIterator[Response]]: ...
    def __get__(self, calls: Calls | AsyncCalls | None, table: type) -> Any:
        """Return the call; from a class, the method."""
        return self if calls is None else partial(calls.link.stream, self)


class Upload(Method[Request, Response]):
    """A stream of requests, one response."""

    @overload
    def __get__(self, calls: Calls, table: type) -> SendingCall[Request, Response]: ...
    @overload
    def __get__(self, calls: AsyncCalls, table: type) -> AsyncSendingCall[Request, Coroutine[Any, Any, Response]]: ...
    def __get__(self, calls: Calls | AsyncCalls | None, table: type) -> Any:
        """Return the call; from a class, the method."""
        return self if calls is None else partial(calls.link.upload, self)


class Exchange(Method[Request, Response]):
    """A stream each way."""

    @overload
    def __get__(self, calls: Calls, table: type) -> SendingCall[Request, Iterator[Response]]: ...
    @overload
    def __get__(self, calls: AsyncCalls, table: type) -> AsyncSendingCall[Request, AsyncIterator[Response]]: ...
    def __get__(self, calls: Calls | AsyncCalls | None, table: type) -> Any:
        """Return the call; from a class, the method."""
        return self if calls is None else partial(calls.link.exchange, self)

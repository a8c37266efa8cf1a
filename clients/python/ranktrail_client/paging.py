"""Every page of a list."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Protocol, Self, TypeVar

LARGEST_PAGE = 100


class PagedRequest(Protocol):
    """A request for one page."""

    page_size: int
    page_token: str

    def CopyFrom(self, other: Self, /) -> None:  # noqa: N802 - protobuf's name
        """Become equal to `other`."""


class Page(Protocol):
    """A page."""

    @property
    def next_page_token(self) -> str:
        """Token of the page after; empty on the last."""


Request = TypeVar("Request", bound=PagedRequest)
Response = TypeVar("Response", bound=Page)


def pages(call: Callable[[Request], Response], request: Request) -> Iterator[Response]:
    """Yield page after page of `call`, each fetched when it is asked for; `request` stays as it is."""
    asked = _first(request)
    while True:
        page = call(asked)
        yield page
        if not page.next_page_token:
            return
        asked.page_token = page.next_page_token


async def async_pages(call: Callable[[Request], Awaitable[Response]], request: Request) -> AsyncIterator[Response]:
    """As `pages`, of a call that is awaited."""
    asked = _first(request)
    while True:
        page = await call(asked)
        yield page
        if not page.next_page_token:
            return
        asked.page_token = page.next_page_token


def _first(request: Request) -> Request:
    asked = type(request)()
    asked.CopyFrom(request)
    asked.page_size = request.page_size or LARGEST_PAGE
    return asked

"""Both services, as one thing to open and close: for callers that wait, and for coroutines."""

from pathlib import Path
from types import TracebackType
from typing import Self

from ranktrail_client.async_link import AsyncLink
from ranktrail_client.certificates import Certificates
from ranktrail_client.endpoint import Endpoint, endpoints
from ranktrail_client.evaluation import AsyncEvaluationCalls, EvaluationCalls
from ranktrail_client.history import AsyncHistoryCalls, HistoryCalls
from ranktrail_client.link import Link
from ranktrail_client.ranker import AsyncRankerCalls, RankerCalls


class _Connecting:
    """What both clients are told: where the services are."""

    def __init__(self, ranker: Endpoint, history: Endpoint) -> None:
        raise NotImplementedError

    @classmethod
    def connect(
        cls,
        data_dir: Path | str | None = None,
        *,
        ranker: str | None = None,
        history: str | None = None,
        token: str | None = None,
        allow_remote: bool = False,
        certificates: Certificates | None = None,
    ) -> Self:
        """Return a client of the services at the given addresses, else of those of the data directory.

        On TCP a call carries `token`, else what the data directory's token file holds then. A remote address is always
        encrypted, a port of this machine where `certificates` are given. Raises Refused for an address that is
        malformed, or that leaves this machine without `allow_remote`.
        """
        return cls(
            *endpoints(
                data_dir,
                ranker=ranker,
                history=history,
                token=token,
                allow_remote=allow_remote,
                certificates=certificates,
            )
        )


class Client(_Connecting):
    """Calls to both services; connects when the first call needs it, so that one may run without the other.

    >>> with Client.connect() as client:
    ...     reply = client.ranker.activate_memory(ActivateMemoryRequest(project_id="docs", query="how to deploy"))
    """

    def __init__(self, ranker: Endpoint, history: Endpoint) -> None:
        self._links = to_ranker, to_history = Link(ranker), Link(history)
        self.ranker = RankerCalls(to_ranker)
        self.history = HistoryCalls(to_history)
        self.evaluation = EvaluationCalls(to_history)

    def close(self) -> None:
        """End every call under way and let go of both connections."""
        for link in self._links:
            link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Connecting):
    """As Client, for coroutines; made where a loop runs, and used in that loop alone.

    >>> async with AsyncClient.connect() as client:
    ...     reply = await client.ranker.activate_memory(ActivateMemoryRequest(project_id="docs", query="how to deploy"))
    """

    def __init__(self, ranker: Endpoint, history: Endpoint) -> None:
        self._links = to_ranker, to_history = AsyncLink(ranker), AsyncLink(history)
        self.ranker = AsyncRankerCalls(to_ranker)
        self.history = AsyncHistoryCalls(to_history)
        self.evaluation = AsyncEvaluationCalls(to_history)

    async def close(self) -> None:
        """End every call under way and let go of both connections."""
        for link in self._links:
            await link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

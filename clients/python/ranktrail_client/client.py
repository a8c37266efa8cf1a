"""Both services, as one thing to open and close."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from ranktrail_client.address import Address, Reach
from ranktrail_client.data_directory import resolve_data_directory, socket_address, token_file
from ranktrail_client.errors import Refused
from ranktrail_client.evaluation import EvaluationCalls
from ranktrail_client.history import HistoryCalls
from ranktrail_client.link import Link
from ranktrail_client.ranker import RankerCalls


class Client:
    """Calls to both services; connects when the first call needs it, so that one may run without the other.

    >>> with Client.connect() as client:
    ...     reply = client.ranker.activate_memory(ActivateMemoryRequest(project_id="docs", query="how to deploy"))
    """

    def __init__(self, ranker: Link, history: Link) -> None:
        self._links = (ranker, history)
        self.ranker = RankerCalls(ranker)
        self.history = HistoryCalls(history)
        self.evaluation = EvaluationCalls(history)

    @classmethod
    def connect(
        cls,
        data_dir: Path | str | None = None,
        *,
        ranker: str | None = None,
        history: str | None = None,
        token: str | None = None,
        allow_remote: bool = False,
        root_certificates: bytes | None = None,
    ) -> Self:
        """Return a client of the services at the given addresses, else of those of the data directory.

        On TCP a call carries `token`, else what the data directory's token file holds. Raises Refused for an address
        that is malformed, or that leaves this machine without `allow_remote`; a remote one is always encrypted.
        """
        directory = resolve_data_directory(data_dir, os.environ)
        links = []
        for service, given in (("ranker", ranker), ("history", history)):
            address = Address.parse(given or socket_address(directory, service))
            if address.reach is Reach.REMOTE and not allow_remote:
                raise Refused(
                    f"{service} address {address.target!r} is not on this machine: pass allow_remote=True "
                    "to send a memory there"
                )
            bearer = None if address.reach is Reach.SOCKET else token or _stored_token(directory)
            links.append(Link(service, address, bearer, root_certificates))
        return cls(*links)

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


def _stored_token(directory: Path) -> str | None:
    try:
        return token_file(directory).read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"token file {token_file(directory)} cannot be read: give the token with RANKTRAIL_TOKEN"
        ) from error

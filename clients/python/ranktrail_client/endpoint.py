"""One service as a client reaches it: where, with what token, and over what kind of channel."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from ranktrail_client.address import Address, Reach
from ranktrail_client.certificates import Certificates
from ranktrail_client.data_directory import resolve_data_directory, socket_address, token_file
from ranktrail_client.errors import RanktrailError, Refused, decode

_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.enable_http_proxy", 0),  # a proxy set for the web must not see a memory
    ("grpc.use_local_subchannel_pool", 1),  # one client's failed connection is not another's
)
# A service of this machine that was just started is found within a second.
_LOCAL_OPTIONS = (("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 1_000))


@dataclass(frozen=True)
class Endpoint:
    """A service's address, what says the token that calls carry now, and what an encrypted connection needs."""

    service: str
    address: Address
    token: Callable[[], str | None] = lambda: None
    certificates: Certificates | None = None
    _process: int = field(default_factory=os.getpid)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call carries."""
        token = self.token()
        return (("authorization", f"Bearer {token}"),) if token else ()

    @property
    def credentials(self) -> grpc.ChannelCredentials | None:
        """The channel's credentials; None for one that is not encrypted, which only an address of this machine has."""
        is_encrypted = self.address.reach is Reach.REMOTE or self.certificates is not None
        if self.address.reach is Reach.SOCKET or not is_encrypted:
            return None
        return (self.certificates or Certificates()).credentials()

    @property
    def options(self) -> tuple[tuple[str, int], ...]:
        """The channel's options."""
        return _OPTIONS if self.address.reach is Reach.REMOTE else _OPTIONS + _LOCAL_OPTIONS

    def decoded(self, error: grpc.RpcError) -> RanktrailError:
        """Return the typed error of a call that failed, caused by it."""
        typed = decode(error, self.service, self.address.target)
        typed.__cause__ = error
        return typed

    def check_process(self) -> None:
        """Raise RuntimeError after a fork, which no channel survives."""
        if os.getpid() != self._process:
            raise RuntimeError("a client does not survive a fork: connect in the process that calls")


def endpoints(
    data_dir: Path | str | None,
    *,
    ranker: str | None,
    history: str | None,
    token: str | None,
    allow_remote: bool,
    certificates: Certificates | None,
) -> tuple[Endpoint, Endpoint]:
    """Return the ranker and history at the given addresses, else at those of the data directory; raise Refused."""
    directory = resolve_data_directory(data_dir, os.environ)

    def endpoint(service: str, given: str | None) -> Endpoint:
        address = Address.parse(given or socket_address(directory, service))
        if address.reach is Reach.REMOTE and not allow_remote:
            raise Refused(
                f"{service} address {address.target!r} is not on this machine: pass allow_remote=True "
                "to send a memory there"
            )
        if address.reach is Reach.SOCKET:
            return Endpoint(service, address)
        # Read for each call: it may be replaced while the client lives.
        return Endpoint(service, address, lambda: token or _stored_token(directory), certificates)

    return endpoint("ranker", ranker), endpoint("history", history)


def _stored_token(directory: Path) -> str | None:
    try:
        return token_file(directory).read_text(encoding="ascii").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(
            f"token file {token_file(directory)} cannot be read: give the token with RANKTRAIL_TOKEN"
        ) from error

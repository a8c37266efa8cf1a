"""What `ranktrail up` tells services that listen on TCP about certificates."""

from collections.abc import Iterator
from pathlib import Path

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.session import Session
from ranktrail_client.address import Address, Reach

EVERY_ADDRESS = ("0.0.0.0:", "[::]:")


class ServiceEncryption:
    """Options for each service; one on a Unix socket needs none."""

    def __init__(self, session: Session, client_authority: Path | None) -> None:
        """Raise CommandFailed for options that would make services that nobody reaches."""
        self._session = session
        self._client_authority = client_authority
        for option, address in (("--ranker", session.ranker), ("--history", session.history)):
            if _is_tcp(address):
                self._check(option, address or "")

    def ranker_options(self) -> list[str]:
        """Return the ranker's: its own certificate, which a history on TCP sees too, and what it checks history by."""
        session = self._session
        if not (_is_tcp(session.ranker) or _is_tcp(session.history)):
            return []
        remote = ["--allow-remote"] if session.allow_remote else []
        return [*self._own(), *_option("--tls-ca", session.tls_ca), *remote]

    def history_options(self) -> list[str]:
        """Return history's."""
        return list(self._own()) if _is_tcp(self._session.history) else []

    def _own(self) -> Iterator[str]:
        yield from _option("--tls-cert", self._session.tls_cert)
        yield from _option("--tls-key", self._session.tls_key)
        yield from _option("--tls-client-ca", self._client_authority)

    def _check(self, option: str, address: str) -> None:
        if address.startswith(EVERY_ADDRESS):
            raise CommandFailed(
                f"{option} {address!r} is every address and none to call: name the one that callers use", Exit.USAGE
            )
        is_asked = self._session.tls_ca or self._client_authority or Address.parse(address).reach is Reach.REMOTE
        if is_asked and self._session.tls_cert is None:
            raise CommandFailed(
                f"{option} {address!r} needs a certificate to encrypt: give --tls-cert and --tls-key", Exit.USAGE
            )


def _is_tcp(address: str | None) -> bool:
    return bool(address) and Address.parse(address or "").reach is not Reach.SOCKET


def _option(name: str, path: Path | None) -> Iterator[str]:
    if path is not None:
        yield from (name, str(path.absolute()))

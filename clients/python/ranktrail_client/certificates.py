"""What an encrypted connection checks and shows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import grpc

from ranktrail_client.errors import Refused


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM texts: the authority that a service's certificate is checked against, and an own certificate with its key.

    Without an authority those of gRPC count; the own pair is for a service that asks its callers for one.
    """

    authority: bytes | None = None
    chain: bytes | None = None
    key: bytes | None = None

    @classmethod
    def read(cls, authority: Path | None, chain: Path | None, key: Path | None) -> Self | None:
        """Read the files that are named, None when none is; raise Refused for one that cannot be used."""
        if (chain is None) != (key is None):
            raise Refused("--tls-cert and --tls-key go together: give both or neither")
        if authority is None and chain is None:
            return None
        _check(authority, chain, key)
        return cls(*(None if path is None else path.read_bytes() for path in (authority, chain, key)))

    def credentials(self) -> grpc.ChannelCredentials:
        """Return them as a channel takes them."""
        return grpc.ssl_channel_credentials(self.authority, self.key, self.chain)


def _check(authority: Path | None, chain: Path | None, key: Path | None) -> None:
    """Raise Refused for a file that cannot be used; gRPC would say no more than that it cannot connect."""
    import ssl  # noqa: PLC0415 - most connections need none

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if authority is not None:
            context.load_verify_locations(authority)
        if chain is not None:
            context.load_cert_chain(chain, key, password=lambda: "")
    except ssl.SSLError as error:
        raise Refused("--tls-ca, or --tls-cert and --tls-key, are no PEM files that belong together") from error
    except OSError as error:
        raise Refused(f"--tls-ca, --tls-cert or --tls-key cannot be read ({error.strerror}): name PEM files") from error

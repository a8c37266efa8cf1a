"""Certificates and keys in PEM files, as gRPC takes them."""

import argparse
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from ranktrail_serving.errors import CertificateRefused, DirectoryForeign
from ranktrail_serving.ownership import require_private_file


@dataclass(frozen=True, slots=True)
class Certificates:
    """What a service shows and asks for.

    `chain` and `key` are its own. Callers must show a certificate of `client_authority`, where there is one.
    `authority` is what the certificate of another service is checked against; None: the authorities that gRPC knows.
    """

    chain: Path | None = None
    key: Path | None = None
    client_authority: Path | None = None
    authority: Path | None = None

    def __post_init__(self) -> None:
        """Raise CertificateRefused for half of a pair, and for a client authority without one."""
        if (self.chain is None) != (self.key is None):
            raise CertificateRefused("--tls-cert and --tls-key go together: give both or neither")
        if self.client_authority is not None and self.chain is None:
            raise CertificateRefused("--tls-client-ca needs a server that encrypts: give --tls-cert and --tls-key")

    @property
    def encrypts(self) -> bool:
        """Whether what is served is encrypted."""
        return self.chain is not None

    def server_credentials(self) -> grpc.ServerCredentials | None:
        """Return what a TCP port is bound with, None where nothing is encrypted; raise CertificateRefused."""
        pair = self._pair()
        if pair is None:
            return None
        authority = _authority(self.client_authority, "--tls-client-ca")
        return grpc.ssl_server_credentials([pair], authority, require_client_auth=authority is not None)

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Return what another service is called with, showing the own certificate; raise CertificateRefused."""
        key, chain = self._pair() or (None, None)
        return grpc.ssl_channel_credentials(_authority(self.authority, "--tls-ca"), key, chain)

    def _pair(self) -> tuple[bytes, bytes] | None:
        if self.chain is None or self.key is None:
            return None
        chain, key = _read(self.chain, "--tls-cert"), _read_key(self.key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.chain, self.key, password=lambda: "")
        except (ssl.SSLError, ValueError) as error:
            raise CertificateRefused(
                f"--tls-cert {self.chain} and --tls-key {self.key} are no pair of PEM files without a password"
            ) from error
        return key, chain


NO_CERTIFICATES = Certificates()


def add_certificate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `certificates_of` reads."""
    options = (
        ("--tls-cert", "PEM file with the certificate that callers on TCP see"),
        ("--tls-key", "PEM file with its key, which nobody else can read"),
        ("--tls-client-ca", "PEM file; callers must show a certificate that it signed"),
    )
    for option, text in options:
        parser.add_argument(option, metavar="FILE", type=Path, help=text)


def certificates_of(options: argparse.Namespace) -> Certificates:
    """Return what the options name; raise CertificateRefused."""
    return Certificates(options.tls_cert, options.tls_key, options.tls_client_ca, getattr(options, "tls_ca", None))


def _authority(path: Path | None, option: str) -> bytes | None:
    if path is None:
        return None
    content = _read(path, option)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (ssl.SSLError, ValueError) as error:
        raise CertificateRefused(f"{option} {path} holds no certificate: give a PEM file") from error
    return content


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateRefused(f"{option} {path} cannot be read ({error.strerror}): give a PEM file") from error


def _read_key(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            require_private_file(file.fileno(), f"--tls-key {path}")
            return file.read()
    except DirectoryForeign as error:
        raise CertificateRefused(str(error)) from error
    except OSError as error:
        raise CertificateRefused(f"--tls-key {path} cannot be read ({error.strerror}): give a PEM file") from error

"""Certificates for services on TCP: an authority of one's own, and a certificate that it signed for each side."""

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.whole_folder import folder_beside, new_file, put

AUTHORITY_DAYS = 3_650
CLOCK_SKEW = timedelta(minutes=5)
"""How far behind the clock of a caller may be."""


@dataclass(frozen=True, slots=True)
class Made:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey


def write_certificates(folder: Path, names: Sequence[str], days: int) -> dict[str, datetime]:
    """Write ca, server and client, each as .pem and .key, to a folder that is not there or empty.

    The server's certificate is for `names`, host names and IP addresses. Returns when each certificate ends; raises
    CommandFailed where something is in the folder already.
    """
    authority = _authority()
    made = {
        "ca": authority,
        "server": _signed(authority, "Ranktrail server", days, names),
        "client": _signed(authority, "Ranktrail client", days, ()),
    }
    _write(folder, made)
    return {name: one.certificate.not_valid_after_utc for name, one in made.items()}


def _write(folder: Path, made: dict[str, Made]) -> None:
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.exists() and any(folder.iterdir()):
            raise CommandFailed(
                f"{str(folder)!r} is not empty, and nothing is overwritten: name another", Exit.CONFLICT
            )
        with folder_beside(folder) as fresh:
            for name, one in made.items():
                _write_file(fresh, f"{name}.pem", one.certificate.public_bytes(serialization.Encoding.PEM))
                _write_file(fresh, f"{name}.key", _pem(one.key))
            put(fresh, folder)
    except OSError as error:
        raise CommandFailed(
            f"{str(folder)!r} cannot be written ({error.strerror}): name another", Exit.REFUSED
        ) from error


def _write_file(folder: Path, name: str, content: bytes) -> None:
    with os.fdopen(new_file(folder, name), "wb") as file:
        file.write(content)


def _pem(key: EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


def _authority() -> Made:
    key, name = generate_private_key(SECP256R1()), _name("Ranktrail authority")
    builder = (
        _builder(key, name, AUTHORITY_DAYS)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return Made(builder.sign(key, hashes.SHA256()), key)


def _signed(authority: Made, title: str, days: int, names: Sequence[str]) -> Made:
    """Return a certificate; the server's is for both sides, since the ranker shows it to a history that asks."""
    key = generate_private_key(SECP256R1())
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if names else [])]
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = (
        _builder(key, _name(title), days)
        .issuer_name(authority.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(signer, critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_general_name, names))), critical=False)
    return Made(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(key: EllipticCurvePrivateKey, name: x509.Name, days: int) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(title: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )

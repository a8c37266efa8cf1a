"""What may be listened on, and what counts as this machine."""

from pathlib import Path

import pytest

from ranktrail_serving.errors import AddressRefused, CertificateRefused
from ranktrail_serving.listener import TcpAddress, is_local, parse_address
from ranktrail_serving.tls import Certificates


@pytest.mark.parametrize("address", ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "memory.example:80"])
def test_an_address_that_others_reach_is_served_encrypted_or_not_at_all(address: str) -> None:
    with pytest.raises(AddressRefused, match="needs TLS: give --tls-cert and --tls-key"):
        parse_address(address)
    assert parse_address(address, encrypted=True) == TcpAddress(address.rpartition(":")[0], 80)


@pytest.mark.parametrize(
    "address", ["127.0.0.1:x", "127.0.0.1", ":80", "a b:80", "a\n:80", "127.0.0.1:65536", "h/..:1"]
)
def test_what_is_no_address_is_refused_whether_encrypted_or_not(address: str) -> None:
    for encrypted in (False, True):
        with pytest.raises(AddressRefused, match="neither unix:/path nor HOST:PORT"):
            parse_address(address, encrypted=encrypted)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("unix:/run/x.sock", True),
        ("127.0.0.1:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("127.0.0.1.evil.example:1", False),
        ("localhost.evil.example:1", False),
        ("0.0.0.0:1", False),
        ("10.0.0.1:1", False),
        ("2130706433:1", False),
    ],
)
def test_only_sockets_and_loopback_are_this_machine(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_half_of_a_pair_of_certificate_and_key_is_refused() -> None:
    for chain, key in ((Path("c"), None), (None, Path("k"))):
        with pytest.raises(CertificateRefused, match="go together"):
            Certificates(chain, key)
    with pytest.raises(CertificateRefused, match="needs a server that encrypts"):
        Certificates(client_authority=Path("ca"))

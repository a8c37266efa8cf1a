"""`ranktrail tls init` and `ranktrail token rotate`: what they write, for whom, and what they leave alone."""

import ipaddress
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, ServerVerifier, Store, VerificationError

from ranktrail_cli.exits import Exit
from tests.unit.cli.running import Run

FILES = {f"{name}.{kind}" for name in ("ca", "server", "client") for kind in ("pem", "key")}


@pytest.fixture
def folder(alone: Run, tmp_path: Path) -> Path:
    made = alone(
        "tls", "init", str(tmp_path / "tls"), "--name", "memory.example", "--name", "192.0.2.7", "--days", "30"
    )
    assert (made.code, made.err) == (0, "")
    return tmp_path / "tls"


def certificate(folder: Path, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((folder / f"{name}.pem").read_bytes())


def test_three_pairs_that_only_their_owner_reads(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == FILES
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_each_key_belongs_to_its_certificate(folder: Path) -> None:
    for name in ("ca", "server", "client"):
        key = load_pem_private_key((folder / f"{name}.key").read_bytes(), None)
        assert key.public_key() == certificate(folder, name).public_key()


def _server(folder: Path, subject: x509.GeneralName) -> ServerVerifier:
    policy = PolicyBuilder().store(Store([certificate(folder, "ca")]))
    assert isinstance(subject, x509.DNSName | x509.IPAddress)
    return policy.build_server_verifier(subject)


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "memory.example", "192.0.2.7"])
def test_the_server_is_believed_under_each_of_its_names(folder: Path, name: str) -> None:
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        subject = x509.DNSName(name)
    assert len(_server(folder, subject).verify(certificate(folder, "server"), [])) == 2


def test_nobody_is_believed_under_another_name_and_a_client_is_no_server(folder: Path) -> None:
    for name, who in (("other.example", "server"), ("localhost", "client")):
        with pytest.raises(VerificationError):
            _server(folder, x509.DNSName(name)).verify(certificate(folder, who), [])


def test_the_client_is_for_callers_alone_and_the_server_for_both_sides(folder: Path) -> None:
    usage = {
        name: set(certificate(folder, name).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
        for name in ("server", "client")
    }
    assert usage["client"] == {ExtendedKeyUsageOID.CLIENT_AUTH}
    assert usage["server"] == {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH}


def test_they_are_valid_from_now_for_the_days_that_were_asked_for(folder: Path) -> None:
    now = datetime.now(UTC)
    for name in ("server", "client"):
        assert certificate(folder, name).not_valid_before_utc < now
        left = certificate(folder, name).not_valid_after_utc - now
        assert timedelta(days=29, hours=23) < left <= timedelta(days=30)
    assert certificate(folder, "ca").not_valid_after_utc > now + timedelta(days=3_000)


def test_nothing_is_overwritten(alone: Run, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ended = alone("tls", "init", str(folder))
    assert ended.code == Exit.CONFLICT
    assert "not empty" in ended.err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".tls")] == []


def test_json_names_folder_names_and_ends(alone: Run, tmp_path: Path) -> None:
    ended = alone("tls", "init", "--json")
    assert ended.json["folder"] == str(tmp_path / "tls")
    assert ended.json["names"][:3] == ["localhost", "127.0.0.1", "::1"]
    assert set(ended.json["certificates"]) == {"ca", "server", "client"}


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "-a", "a/b", "é.example", "a" * 300])
def test_a_name_that_no_certificate_can_have_is_a_usage_error(alone: Run, tmp_path: Path, name: str) -> None:
    ended = alone("tls", "init", str(tmp_path / "tls"), "--name", name)
    assert ended.code == Exit.USAGE
    assert not (tmp_path / "tls").exists()


def test_a_token_is_replaced_and_not_shown(alone: Run, tmp_path: Path) -> None:
    file = tmp_path / "run" / "token"
    tokens = []
    for replaced in (False, True):
        ended = alone("token", "rotate", "--json")
        assert ended.json == {"token_file": str(file), "replaced": replaced}
        tokens.append(file.read_text().strip())
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert tokens[-1] not in ended.out + ended.err
    assert tokens[0] != tokens[1]
    assert all(len(token) >= 43 for token in tokens)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--ranker", "0.0.0.0:1"], "every address"),
        (["--history", "[::]:1"], "every address"),
        (["--ranker", "192.0.2.7:1"], "give --tls-cert and --tls-key"),
        (["--ranker", "127.0.0.1:1", "--tls-ca", "ca.pem"], "give --tls-cert and --tls-key"),
        (["--history", "127.0.0.1:1", "--tls-client-ca", "ca.pem"], "give --tls-cert and --tls-key"),
    ],
)
def test_up_refuses_what_nobody_could_reach_safely(alone: Run, options: list[str], problem: str) -> None:
    ended = alone("up", "--allow-remote", *options)
    assert ended.code == Exit.USAGE
    assert problem in ended.err

"""History over TLS: who is let in, and that nothing is said in the clear. The ranker has the same listener."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from history_service.bootstrap import HistoryService
from history_service.config import read_config
from ranktrail_cli.certificates import write_certificates
from ranktrail_client import Certificates, Client, RanktrailError
from ranktrail_client.errors import ServiceUnreachable, TokenInvalid
from ranktrail_serving.errors import CertificateRefused, StartRefused
from tests.processes import short_directory

NAMES = ("localhost", "127.0.0.1")


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """Two authorities, each with its certificates: `ours` and `theirs`."""
    with short_directory() as folder:
        for name in ("ours", "theirs"):
            write_certificates(folder / name, NAMES, days=2)
        yield folder


def server_options(folder: Path, *, mutual: bool = False) -> list[str]:
    options = ["--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]
    return options + (["--tls-client-ca", str(folder / "ca.pem")] if mutual else [])


@contextmanager
def serving(made: Path, address: str = "127.0.0.1:0", *, mutual: bool = False) -> Iterator[tuple[Path, str]]:
    with short_directory() as data_dir:
        options = ["--data-dir", str(data_dir), "--address", address, *server_options(made / "ours", mutual=mutual)]
        with HistoryService(read_config(options)) as service:
            service.start()
            yield data_dir, service.target


def runs(place: tuple[Path, str], certificates: Certificates | None, token: str | None = None) -> int:
    """Return what history says when it is asked how many Runs it has."""
    data_dir, target = place
    with Client.connect(data_dir, history=target, token=token, certificates=certificates) as client:
        return client.history.get_runtime(timeout=5).run_count


def shown(folder: Path, who: str | None = None) -> Certificates | None:
    own = (None, None) if who is None else (folder / f"{who}.pem", folder / f"{who}.key")
    return Certificates.read(folder / "ca.pem", *own)


def test_a_caller_that_knows_the_authority_and_the_token_is_served(made: Path) -> None:
    with serving(made) as place:
        assert runs(place, shown(made / "ours")) == 0
        with pytest.raises(TokenInvalid):
            runs(place, shown(made / "ours"), token="x" * 43)


@pytest.mark.parametrize("authority", ["theirs", None])
def test_a_caller_speaks_to_no_server_that_its_authority_does_not_know(made: Path, authority: str | None) -> None:
    certificates = Certificates() if authority is None else shown(made / authority)
    with serving(made) as place, pytest.raises(ServiceUnreachable):
        runs(place, certificates)


def test_a_caller_speaks_to_no_server_whose_certificate_is_for_another_name(tmp_path: Path) -> None:
    write_certificates(tmp_path / "ours", ["memory.example"], days=2)
    with serving(tmp_path) as place, pytest.raises(ServiceUnreachable):
        runs(place, shown(tmp_path / "ours"))


def test_an_encrypted_port_does_not_answer_in_the_clear(made: Path) -> None:
    with serving(made) as place, pytest.raises(ServiceUnreachable):
        runs(place, None)


def test_with_a_client_authority_only_its_certificates_are_let_in(made: Path) -> None:
    ours = made / "ours"
    strangers = Certificates((ours / "ca.pem").read_bytes(), *map(Path.read_bytes, pair(made / "theirs")))
    with serving(made, mutual=True) as place:
        assert runs(place, shown(ours, "client")) == 0
        assert runs(place, shown(ours, "server")) == 0  # the ranker shows its own
        for certificates in (shown(ours), strangers):
            with pytest.raises(ServiceUnreachable):
                runs(place, certificates)
        with pytest.raises(TokenInvalid):
            runs(place, shown(ours, "client"), token="x" * 43)


def pair(folder: Path) -> tuple[Path, Path]:
    return folder / "client.pem", folder / "client.key"


def test_every_address_of_the_machine_is_served_with_tls(made: Path) -> None:
    with serving(made, "0.0.0.0:0") as (data_dir, target):
        place = data_dir, "127.0.0.1:" + target.rpartition(":")[2]
        assert runs(place, shown(made / "ours")) == 0


def test_a_key_that_others_could_read_is_closed(made: Path) -> None:
    key = made / "ours" / "server.key"
    key.chmod(0o644)
    with serving(made):
        assert key.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        ("ours/server.pem", "theirs/server.key", "no pair"),
        ("ours/server.key", "ours/server.key", "no pair"),
        ("nowhere.pem", "ours/server.key", "cannot be read"),
        ("ours/server.pem", "nowhere.key", "cannot be read"),
    ],
)
def test_a_server_with_unusable_certificates_does_not_start(
    made: Path, tmp_path: Path, certificate: str, key: str, problem: str
) -> None:
    options = ["--tls-cert", str(made / certificate), "--tls-key", str(made / key), "--address", "127.0.0.1:0"]
    with pytest.raises(CertificateRefused, match=problem):
        HistoryService(read_config(["--data-dir", str(tmp_path), *options]))


def test_a_client_authority_that_is_none_does_not_leave_the_door_open(made: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    options = [*server_options(made / "ours"), "--tls-client-ca", str(tmp_path / "empty.pem")]
    with pytest.raises(CertificateRefused, match="holds no certificate"):
        HistoryService(read_config(["--data-dir", str(tmp_path / "d"), "--address", "127.0.0.1:0", *options]))


def test_certificates_for_a_socket_are_a_mistake_that_is_said(made: Path, tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="a Unix socket needs none"):
        read_config(["--data-dir", str(tmp_path), *server_options(made / "ours")])


@pytest.mark.parametrize("name", ["ca", "cert", "key"])
def test_a_client_says_which_options_name_no_pem_file(made: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "junk").write_text("junk")
    files = {"ca": made / "ours/ca.pem", "cert": made / "ours/client.pem", "key": made / "ours/client.key"}
    for wrong, problem in ((tmp_path / "junk", "no PEM files"), (tmp_path / "nowhere", "cannot be read")):
        with pytest.raises(RanktrailError, match=problem):
            Certificates.read(*{**files, name: wrong}.values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
@pytest.mark.parametrize("part", ["", "history", "run", "history/local.db"])
def test_a_history_whose_directory_or_database_belongs_to_somebody_else_does_not_start(part: str) -> None:
    with short_directory() as data_dir:
        options = ["--data-dir", str(data_dir), "--address", "127.0.0.1:0"]
        HistoryService(read_config(options)).close()
        os.chown(data_dir / part, 65_534, 65_534)
        with pytest.raises(StartRefused, match=r"belongs to user 65534|is not a file of user"):
            HistoryService(read_config(options))

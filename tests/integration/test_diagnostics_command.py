"""How the pages are started, ended and kept running."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.fakes.pretenders import eventually, is_alive, write_pretenders
from tests.processes import short_directory


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "ranktrail_cli", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=20)


def first_event(process: subprocess.Popen[str], service: str) -> dict[str, Any]:
    assert process.stdout is not None
    events = (json.loads(line) for line in process.stdout)
    return next(event for event in events if event["service"] == service)


def answers(address: str) -> bool:
    with contextlib.suppress(httpx2.TransportError):
        return httpx2.get(address).status_code == 200
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_pages_with_0_at_once_whoever_listens(data_dir: Path, number: signal.Signals) -> None:
    with running("diagnostics", "--json", "--data-dir", str(data_dir)) as process, httpx2.Client() as client:
        address = first_event(process, "diagnostics")["address"]
        assert client.get(address).status_code == 200
        with client.stream("GET", httpx2.URL(address).join("/events")) as stream:
            assert next(stream.iter_text()).startswith("retry")
            begin = time.monotonic()
            process.send_signal(number)
            assert process.wait(20) == 0
            assert time.monotonic() - begin < 5


def test_up_serves_the_pages_and_starts_them_again_where_they_were(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pretenders(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with running("up", "--json", "--data-dir", str(data_dir)) as process:
        event = first_event(process, "diagnostics")
        with httpx2.Client() as client:
            assert client.get(event["address"]).status_code == 200
            os.kill(event["pid"], signal.SIGKILL)
            page = httpx2.URL(event["address"]).join("/runs")
            assert eventually(lambda: not is_alive(event["pid"]))
            assert eventually(lambda: answers(event["address"]))
            assert client.get(page).status_code == 200
    assert process.returncode == 0
    assert not answers(event["address"])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on PATH to make a certificate")
def test_others_are_served_over_tls_alone(data_dir: Path, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subject = ["-subj", "/CN=pages.example", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*made, *subject], check=True, capture_output=True)
    files = ["--certificate", str(certificate), "--key", str(key), "--name", "pages.example"]
    with running("diagnostics", "--json", "--data-dir", str(data_dir), "--host", "0.0.0.0", *files) as process:  # noqa: S104
        address = httpx2.URL(first_event(process, "diagnostics")["address"])
        assert address.scheme == "https"
        own = {"host": f"pages.example:{address.port}"}
        with httpx2.Client(verify=False) as client:
            answer = client.get(address.copy_with(host="127.0.0.1"), headers=own)
            assert answer.status_code == 200
            assert "Secure" in answer.headers["set-cookie"]
        with pytest.raises(httpx2.TransportError):
            httpx2.get(f"http://127.0.0.1:{address.port}/")


def test_a_certificate_needs_its_key(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").touch()
    with running("diagnostics", "--data-dir", str(data_dir), "--certificate", str(tmp_path / "cert.pem")) as process:
        assert process.wait(20) == 2

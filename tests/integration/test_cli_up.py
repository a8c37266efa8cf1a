"""`ranktrail up` as a process, over processes that only answer health checks in the services' place."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranktrail_cli.exits import Exit
from ranktrail_cli.supervisor import is_healthy
from ranktrail_cli.supervisor_lock import locked
from ranktrail_client.client import Client
from tests.fakes.pretenders import BOTH, eventually, is_alive, pids_of, write_pretenders


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "modules"
    write_pretenders(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, modules: Path) -> Iterator[Path]:
    folder = tmp_path / "d"
    (folder / "run").mkdir(parents=True)
    yield folder
    for name in BOTH:
        for pid in pids_of(folder, name) if (folder / f"{name}.pids").exists() else []:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def up(data_dir: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ranktrail_cli", "up", "--no-diagnostics", "--data-dir", str(data_dir), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def serves(data_dir: Path) -> bool:
    with Client.connect(data_dir) as client:
        return is_healthy(client.ranker) and is_healthy(client.history)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_says_what_serves_where_and_a_signal_ends_both_with_0(data_dir: Path, number: signal.Signals) -> None:
    process = up(data_dir)
    assert eventually(lambda: serves(data_dir))
    assert process.stdout is not None
    lines = [process.stdout.readline().decode() for _ in range(3)]
    assert sorted(lines)[1:] == [f"{n} serves at unix:{data_dir}/run/{n}.sock\n" for n in ("history", "ranker")]
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, b"")
    assert "ending…" in out.decode()
    assert sorted((data_dir / "ends").read_text().split()) == ["history", "ranker"]


def test_a_signal_during_the_start_ends_both_too(data_dir: Path, modules: Path) -> None:
    write_pretenders(modules, body="stop.wait(); sys.exit(0)", names=("history",))
    process = up(data_dir)
    assert eventually((data_dir / "history.pids").exists)
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert not is_alive(pids_of(data_dir, "history")[0])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has gone")
def test_both_services_end_with_a_supervisor_that_was_killed(data_dir: Path) -> None:
    process = up(data_dir)
    assert eventually(lambda: serves(data_dir))
    process.kill()
    process.communicate(timeout=20)
    pids = pids_of(data_dir, "ranker") + pids_of(data_dir, "history")
    assert eventually(lambda: not any(is_alive(pid) for pid in pids))


def test_a_second_supervisor_of_a_data_directory_is_refused_and_the_first_goes_on(data_dir: Path) -> None:
    with locked(data_dir):
        process = up(data_dir)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (Exit.CONFLICT, b"")
    assert f"(process {os.getpid()})".encode() in err
    assert len(err.splitlines()) == 1


def test_a_service_that_runs_already_is_not_started_twice(data_dir: Path) -> None:
    history = ["history_service", "--data-dir", str(data_dir)]
    running = subprocess.Popen([sys.executable, "-P", "-m", *history])
    assert eventually((data_dir / "run" / "history.sock").exists)
    process = up(data_dir)
    _, err = process.communicate(timeout=20)
    running.terminate()
    running.wait(20)
    assert process.returncode == Exit.CONFLICT
    assert b"serves at" in err
    assert pids_of(data_dir, "history") == [running.pid]
    assert not (data_dir / "ranker.pids").exists()


def test_up_as_json_is_a_line_an_event(data_dir: Path) -> None:
    process = up(data_dir, "--json")
    assert process.stdout is not None
    events: list[dict[str, Any]] = [json.loads(process.stdout.readline()) for _ in range(2)]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert {event["service"] for event in events} == {"ranker", "history"}
    assert {event["event"] for event in events} == {"serving"}


def test_a_data_directory_too_deep_for_a_socket_is_refused_at_once(data_dir: Path) -> None:
    deep = data_dir / ("x" * 90)
    command = [sys.executable, "-m", "ranktrail_cli", "up", "--data-dir", str(deep)]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=20)
    assert ended.returncode == Exit.REFUSED
    assert b"107" in ended.stderr
    assert not deep.exists()

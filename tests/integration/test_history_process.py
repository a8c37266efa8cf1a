"""History as a process: one a data directory, stopped gracefully, and closed to others."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import ROOT, TIMEOUT, HistoryClient, HistoryProcess, eventually, files_below
from tests.history_builders import a_corpus, a_run, a_start, revisions


def _start_again(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "history_service", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)


def _hold_run(client: HistoryClient, run_id: str = "run-1") -> tuple[Any, threading.Event]:
    hold = threading.Event()

    def frames() -> Any:
        yield a_start(run_id)
        hold.wait(TIMEOUT)
        yield from a_run(run_id)[1:]

    call = client.history.RecordRetrievalRuns(frames(), timeout=TIMEOUT)
    assert eventually(lambda: client.runtime().running_run_count == 1)
    return call, hold


def test_a_second_process_is_refused_in_one_sentence_and_the_first_ones_runs_go_on(tmp_path: Path) -> None:
    with HistoryProcess(tmp_path) as first:
        client = HistoryClient(first.target)
        call, hold = _hold_run(client)
        second = _start_again("--data-dir", str(tmp_path))
        assert second.returncode == 4
        assert second.stderr.strip().splitlines()[-1].startswith("history: data directory")
        assert str(first.process.pid) in second.stderr
        assert client.get().run.state == pb.RetrievalRun.STATE_RUNNING
        hold.set()
        assert next(call).HasField("recorded")
        assert (tmp_path / "run" / "history.sock").exists()
        client.close()


def test_a_socket_or_port_that_is_served_is_not_taken_over(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/shared.sock"
    with (
        HistoryProcess(tmp_path / "a", "--address", address),
        HistoryProcess(tmp_path / "tcp", "--address", "127.0.0.1:0") as tcp,
    ):
        refused = _start_again("--data-dir", str(tmp_path / "b"), "--address", address)
        assert (refused.returncode, "in use" in refused.stderr) == (4, True)
        client = HistoryClient(address)
        assert client.runtime().data_dir == str(tmp_path / "a")
        client.close()
        port = tcp.log.partition("serves 127.0.0.1:")[2].split()[0]
        refused = _start_again("--data-dir", str(tmp_path / "c"), "--address", f"127.0.0.1:{port}")
        assert (refused.returncode, "another program" in refused.stderr) == (5, True)


def test_a_socket_of_another_program_or_a_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        refused = _start_again("--data-dir", str(tmp_path / "d"), "--address", f"unix:{path}")
        assert (refused.returncode, "another program listens" in refused.stderr) == (5, True)
    path.unlink()
    path.write_text("mine")
    refused = _start_again("--data-dir", str(tmp_path / "d"), "--address", f"unix:{path}")
    assert (refused.returncode, "not a socket" in refused.stderr) == (5, True)
    assert path.read_text() == "mine"


def test_a_stale_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    with HistoryProcess(tmp_path) as first:
        first.kill()
    assert (tmp_path / "run" / "history.sock").exists()
    with HistoryProcess(tmp_path) as second:
        client = HistoryClient(second.target)
        assert client.runtime().run_count == 0
        client.close()


def test_a_frozen_process_ends_cleanly_when_it_goes_on_to_find_a_signal(tmp_path: Path) -> None:
    for _ in range(3):
        with HistoryProcess(tmp_path) as process:
            process.process.send_signal(signal.SIGSTOP)
            process.process.send_signal(signal.SIGTERM)
            process.process.send_signal(signal.SIGCONT)
            assert process.process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_within_three_seconds_with_streams_open(tmp_path: Path, number: int) -> None:
    with HistoryProcess(tmp_path) as process:
        client = HistoryClient(process.target)
        watch = client.history.WatchRetrievalRuns(pb.WatchRetrievalRunsRequest())
        next(watch)
        client.record(a_run("done"))
        _call, hold = _hold_run(client)
        code, seconds = process.stop(number)
        hold.set()
        client.close()
    assert code == 0
    assert seconds < 3
    assert not (tmp_path / "run" / "history.sock").exists()
    assert not (tmp_path / "history" / "local.db-wal").exists()


def test_what_was_running_when_it_was_killed_is_failed_before_it_serves_again_and_can_be_healed(tmp_path: Path) -> None:
    with HistoryProcess(tmp_path) as first:
        client = HistoryClient(first.target)
        client.record(a_run("done"))
        _call, hold = _hold_run(client)
        first.kill()
        hold.set()
        client.close()
    with HistoryProcess(tmp_path) as second:
        client = HistoryClient(second.target)
        run = client.get().run
        assert (run.state, run.failure.code) == (pb.RetrievalRun.STATE_FAILED, "retrieval_interrupted")
        assert client.get("done").run.state == pb.RetrievalRun.STATE_SUCCEEDED
        assert client.record(a_run())["run-1"].HasField("recorded")
        assert client.get().run.state == pb.RetrievalRun.STATE_SUCCEEDED
        client.close()


def test_everything_it_makes_is_owner_only_under_an_open_umask(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        process = HistoryProcess(tmp_path / "fresh")
    finally:
        os.umask(before)
    with process:
        client = HistoryClient(process.target)
        corpus = a_corpus({"guide": b"# Guide"})
        client.put(corpus)
        client.record(a_run(revised=revisions(effective_memory_hash=corpus.hash)))
        for path in (tmp_path / "fresh", *files_below(tmp_path / "fresh")):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.lstat().st_mode) == wanted, path
        client.close()


def test_a_refused_database_is_one_sentence_and_not_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir(parents=True)
    (tmp_path / "history" / "local.db").write_bytes(b"no database at all, but text" * 100)
    refused = _start_again("--data-dir", str(tmp_path))
    assert refused.returncode == 5
    assert refused.stderr.count("\n") == 1
    assert "restore it from a backup" in refused.stderr


def test_a_data_directory_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "history").mkdir()
    (tmp_path / "link" / "history" / "local.db").symlink_to(tmp_path / "elsewhere")
    for directory in ("file", "link"):
        refused = _start_again("--data-dir", str(tmp_path / directory))
        assert (refused.returncode, refused.stderr.count("\n")) == (5, 1), refused.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_a_usage_error_and_help(tmp_path: Path) -> None:
    assert _start_again("--interrupted-grace", "soon").returncode == 2
    shown = _start_again("--help")
    assert (shown.returncode, "example:" in shown.stdout) == (0, True)
    refused = _start_again("--data-dir", str(tmp_path), "--address", "0.0.0.0:1")
    assert (refused.returncode, "needs TLS" in refused.stderr) == (5, True)


def test_a_frozen_process_does_not_answer_and_goes_on_when_it_is_woken(tmp_path: Path) -> None:
    with HistoryProcess(tmp_path) as process:
        client = HistoryClient(process.target)
        client.record(a_run("before"))
        process.freeze()
        with pytest.raises(grpc.RpcError) as error:
            client.history.GetRuntime(pb.GetRuntimeRequest(), timeout=0.3)
        assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        process.process.send_signal(signal.SIGCONT)
        assert client.record(a_run("after"))["after"].HasField("recorded")
        client.close()

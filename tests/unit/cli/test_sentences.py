"""What a command says names the option or file that is wrong, and the way out."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_cli import main as main_module
from ranktrail_cli.command_line import run
from ranktrail_cli.exits import Exit
from ranktrail_client.errors import TokenMissing
from ranktrail_client.ranker import RankerCalls
from tests.fakes.services import FakeHistory, served
from tests.unit.cli.running import Run, a_run


@pytest.fixture
def silent_ranker(tmp_path: Path) -> Iterator[None]:
    """Take connections at the ranker's address, and say nothing on them."""
    (tmp_path / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "run" / "ranker.sock"))
        listener.listen()
        yield


@pytest.mark.parametrize("name", ["activate", "sync"])
@pytest.mark.parametrize("kind", ["", " "])
def test_a_blank_kind_is_named_by_its_option(alone: Run, name: str, kind: str) -> None:
    ended = alone(name, "x", "--project", "p", "--kind", kind)
    assert ended.code == Exit.REFUSED
    assert ended.err == "ranktrail: --kind is blank: give it a text, or leave it out\n"


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_profile_is_invalid_without_asking_anybody(alone: Run, tmp_path: Path, content: str) -> None:
    path = tmp_path / "empty.toml"
    path.write_text(content)
    ended = alone("profiles", "validate", str(path))
    assert (ended.code, ended.out) == (Exit.NEGATIVE, f"{path}: the file is empty\n")


def test_an_address_that_leaves_this_machine_names_the_option(alone: Run) -> None:
    ended = alone("status", "--history", "192.0.2.1:80")
    assert ended.code == Exit.REFUSED
    assert ended.err == (
        "ranktrail: --history '192.0.2.1:80' is not on this machine: add --allow-remote to send a memory there\n"
    )


def test_a_malformed_address_is_wrong_usage(alone: Run) -> None:
    ended = alone("runs", "list", "--ranker", "dns:///x")
    assert ended.code == Exit.USAGE
    assert "--ranker" in ended.err
    assert "neither unix:/path nor host:port" in ended.err


def test_a_missing_token_says_where_one_is(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> ranker_pb2.ListProfilesResponse:
        raise TokenMissing("authorization is missing")

    monkeypatch.setattr(RankerCalls, "list_profiles", refused)
    ended = command("profiles", "list")
    assert ended.code == Exit.REFUSED
    assert ended.err.endswith("give the --data-dir of that service\n")


def test_a_wrong_usage_is_one_line_whatever_was_typed(alone: Run) -> None:
    ended = alone("runs", "list", "--state", "odd\nstate\t\x1b[31m\r\n")
    assert ended.code == Exit.USAGE
    assert len(ended.err.splitlines()) == 1
    assert not set(ended.err) & set("\x1b\r\t")
    assert "␊" not in ended.err


def test_the_root_s_help_names_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == Exit.DONE
    shown = capsys.readouterr().out
    for code in Exit:
        assert f"{int(code)} " in shown


def test_empty_lists_say_so(command: Run, history: FakeHistory, tmp_path: Path) -> None:
    history.runs.clear()
    assert command("runs", "list").out == "no Runs\n"
    (tmp_path / "empty").mkdir()
    command("sync", str(tmp_path / "empty"), "--project", "p")
    assert command("memory", "show", "--project", "p").out.startswith("no resources, memory")


def test_a_profile_is_shown_as_its_toml(command: Run) -> None:
    assert command("profiles", "show", "activation.v1").out == "name = 'activation.v1'\n"
    assert command("profiles", "show", "activation.v1", "--json").json["toml"] == "name = 'activation.v1'\n"
    ended = command("profiles", "show", "nothing")
    assert (ended.code, ended.out) == (Exit.REFUSED, "")
    assert "ranktrail profiles list" in ended.err


def test_a_trace_explains_its_columns_once(command: Run) -> None:
    for arguments in (("activate", "q", "--project", "p", "--trace"), ("runs", "show", "RUN1")):
        assert command(*arguments).out.count("relevance reads the model's part alone") == 1


def test_a_terminal_of_80_columns_gets_lines_of_80_columns(tmp_path: Path) -> None:
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    runs = [a_run("01JD5Z6J8QW3N7M2K4R9T0V1XY")]
    command = [sys.executable, "-m", "ranktrail_cli", "runs", "show", runs[0].run.run_id, "--data-dir", str(tmp_path)]
    parent, child = pty.openpty()
    with served(tmp_path, None, FakeHistory(runs=runs)):
        ended = subprocess.run(command, stdout=child, check=False, timeout=60, env=environment)
    os.close(child)
    shown = os.read(parent, 65_536).decode()
    os.close(parent)
    assert ended.returncode == Exit.DONE
    assert "unit a.md#x/0/0" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80 + len("\x1b[1m\x1b[0m")


# Presses Ctrl-C from within, while what the command runs is being loaded.
INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "ranktrail_cli.command_line":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from ranktrail_cli.main import main
main()
"""


def test_ctrl_c_while_the_command_is_loaded_ends_it_without_a_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


def test_ctrl_c_at_any_moment_of_the_start_prints_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ranktrail_cli", "runs", "watch", "--data-dir", str(tmp_path)]
    for delay in (0.2, 0.35, 0.5, 0.7):
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert b"ranktrail_cli" not in err, err.decode()


def test_who_imports_the_command_line_keeps_its_handler_of_interrupts() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert callable(main_module.main)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_service_that_keeps_silent_did_not_answer_in_time(silent_ranker: None, alone: Run) -> None:
    ended = alone("status")
    assert ended.code == Exit.UNREACHABLE
    assert "did not answer in time" in ended.out
    assert "cannot be reached" not in ended.out.splitlines()[0]
    assert "ranktrail status" not in ended.out


def test_a_sync_in_a_pipe_keeps_quiet_when_it_is_quick(command: Run, tmp_path: Path) -> None:
    (tmp_path / "n").mkdir()
    assert command("sync", str(tmp_path / "n"), "--project", "p").err == ""


def test_the_help_of_sync_says_what_becomes_of_deleted_files(alone: Run) -> None:
    shown = " ".join(alone("sync", "--help").out.split())
    assert "Without --prune, a resource whose file was deleted stays in the memory" in shown

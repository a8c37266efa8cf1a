"""An activation's reply reaches its reader before its state counts as known."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_cli import state_file
from ranktrail_cli.exits import Exit
from ranktrail_client import run_delivery
from tests.fakes.services import FakeHistory, FakeRanker, served
from tests.unit.cli.running import Run, a_reply

FORMS = [(), ("--json",)]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "s").write_bytes(b"old")
    return tmp_path / "s"


@pytest.mark.parametrize("form", FORMS)
def test_a_state_that_cannot_be_written_takes_nothing_from_the_reply(
    command: Run, state: Path, form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(state_file.os, "fsync", full)
    ended = command("activate", "q", "--project", "p", "--state", str(state), *form)
    assert ended.code == Exit.INCOMPLETE
    assert "RUN1" in ended.out
    assert "text" in ended.out
    assert "--state" in ended.err
    assert state.read_bytes() == b"old"
    if form:
        assert ended.json["fragments"][0]["content"] == "text"


def activate_into(place: Path, stdout: int | IO[bytes], *arguments: str) -> tuple[int, bytes]:
    options = ["--project", "p", "--data-dir", str(place), "--state", str(place / "s"), *arguments]
    command = [sys.executable, "-m", "ranktrail_cli", "activate", "q", *options]
    with served(place, FakeRanker(response=a_reply()), None):
        ended = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False, timeout=60)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_found_no_reader_does_not_advance_the_state(
    tmp_path: Path, state: Path, form: tuple[str, ...]
) -> None:
    read, write = os.pipe()
    os.close(read)
    assert activate_into(tmp_path, write, *form) == (Exit.READER_GONE, b"")
    os.close(write)
    assert state.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", FORMS)
def test_a_reply_that_found_no_room_does_not_advance_the_state_and_says_so(
    tmp_path: Path, state: Path, form: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("wb") as full:
        code, err = activate_into(tmp_path, full, *form)
    assert code == Exit.INCOMPLETE
    expected = b"ranktrail: standard output cannot be written (no space left on device): give it another place to go\n"
    assert err == expected
    assert state.read_bytes() == b"old"


def test_a_closed_standard_output_asks_nothing_and_leaves_the_state(tmp_path: Path, state: Path) -> None:
    script = f'exec "$0" -m ranktrail_cli activate q --project p --data-dir {tmp_path} --state {state} >&-'
    ranker = FakeRanker(response=a_reply())
    with served(tmp_path, ranker, None):
        ended = subprocess.run(
            ["/bin/sh", "-c", script, sys.executable], stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert ended.returncode == Exit.INCOMPLETE
    assert b"standard output is closed" in ended.stderr
    assert ranker.activations == []
    assert state.read_bytes() == b"old"


def test_a_trace_that_cannot_be_read_is_null_in_the_one_document_and_the_failure_comes_after_it(
    command: Run, history: FakeHistory, ranker: FakeRanker, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_delivery.delivered_run, "__defaults__", (0.2, *run_delivery.delivered_run.__defaults__[1:]))
    ranker.pending_run_count = 1
    history.runs.clear()
    ended = command("activate", "q", "--project", "p", "--trace", "--json", "--state", str(state))
    assert ended.code == Exit.INCOMPLETE
    assert ended.json["trace"] is None
    assert ended.json["fragments"][0]["content"] == "text"
    assert "RUN1" in ended.err
    assert state.read_bytes() == b"known"


def test_a_trace_without_a_history_service_still_prints_the_reply(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ranktrail_cli", "activate", "q", "--project", "p", "--trace", "--json"]
    with served(tmp_path, FakeRanker(response=a_reply()), None):
        ended = subprocess.run([*command, "--data-dir", str(tmp_path)], capture_output=True, check=False, timeout=60)
    assert ended.returncode == Exit.UNREACHABLE
    assert json.loads(ended.stdout)["trace"] is None


def test_no_trace_is_in_the_document_unless_asked_for(command: Run) -> None:
    assert "trace" not in command("activate", "q", "--project", "p", "--json").json


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "no unit passed the profile's relevance floor or the limits given: --trace shows every"),
        (("--kind", "x", "--path", "a/"), "no unit matches --kind/--path or passed the profile's relevance floor"),
        (("--layer", "draft"), "no unit matches --layer or passed"),
        (("--trace",), "the limits given: below is every candidate and its reason"),
    ],
)
def test_no_fragments_are_explained(command: Run, ranker: FakeRanker, options: tuple[str, ...], sentence: str) -> None:
    ranker.response = ranker_pb2.ActivateMemoryResponse(run_id="RUN1")
    ended = command("activate", "q", "--project", "p", *options)
    assert ended.code == Exit.DONE
    assert sentence in ended.out
    as_json = command("activate", "q", "--project", "p", *options, "--json")
    assert as_json.json["fragments"] == []
    assert as_json.err == ""


@pytest.mark.parametrize("option", ["--max-fragments", "--token-budget"])
@pytest.mark.parametrize("value", ["0", "-1", "abc", "9999999999", ""])
def test_a_limit_that_is_no_positive_number_is_wrong_usage(alone: Run, option: str, value: str) -> None:
    ended = alone("activate", "q", "--project", "p", f"{option}={value}")
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert option in ended.err


def test_a_garbage_state_names_the_file_the_way_out_and_the_failed_run(
    command: Run, ranker: FakeRanker, state: Path
) -> None:
    ranker.refused_state = b"old"
    ended = command("activate", "q", "--project", "p", "--state", str(state))
    assert (ended.code, ended.out) == (Exit.REFUSED, "")
    assert f"--state {str(state)!r}" in ended.err
    assert "delete the file to start over" in ended.err
    assert "ranktrail runs show FAILED1" in ended.err
    assert state.read_bytes() == b"old"

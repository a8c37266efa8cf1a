"""Commands against services on real sockets: what they print, where, and what they exit with."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli import command_line
from ranktrail_cli.command_line import run
from ranktrail_cli.exits import Exit
from ranktrail_cli.root import cli
from ranktrail_client import run_delivery
from tests.fakes.services import FakeHistory, FakeRanker, served
from tests.unit.cli.running import Run, a_reply, a_run

EVIL = "\x1b[31mred\x1b[0m \u202egnp [bold]markup[/bold] \x07"


def leaf_commands(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, found in group.commands.items():
        if isinstance(found, click.Group):
            yield from leaf_commands(found, (*path, name))
        else:
            yield (*path, name), found


LEAVES = list(leaf_commands())


@pytest.mark.parametrize(("path", "found"), LEAVES, ids=[" ".join(path) for path, _ in LEAVES])
def test_every_command_has_json_addresses_a_data_directory_and_help_with_examples(
    path: tuple[str, ...], found: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {option for parameter in found.params for option in parameter.opts}
    assert {"--json", "--data-dir", "--ranker", "--history"} <= options
    assert run([*path, "--help"]) == Exit.DONE
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    assert f"ranktrail {' '.join(path)}" in shown


def test_an_activation_prints_its_fragments_and_sends_what_was_asked(command: Run, ranker: FakeRanker) -> None:
    options = ("--max-fragments", "3", "--token-budget", "9", "--kind", "code", "--kind", "note", "--layer", "draft")
    ended = command("activate", "how to", "--project", "p", *options, "--path", "docs/", "--profile", "mine")
    assert ended.code == Exit.DONE
    assert "Run RUN1: 1 fragment, 0 tokens" in ended.out
    assert "text" in ended.out
    sent = ranker.activations[0]
    assert (sent.query, sent.project_id, sent.path_prefix, sent.profile) == ("how to", "p", "docs/", "mine")
    assert (sent.max_fragments, sent.token_budget, list(sent.kinds)) == (3, 9, ["code", "note"])
    assert list(sent.layers) == [trace_pb2.LAYER_DRAFT]
    assert not sent.HasField("activation_state")


def test_limits_that_are_not_given_are_absent_and_not_zero(command: Run, ranker: FakeRanker) -> None:
    command("activate", "q", "--project", "p")
    assert not ranker.activations[0].HasField("max_fragments")
    assert not ranker.activations[0].HasField("token_budget")


def test_a_state_is_read_if_it_is_there_and_written_afterwards(
    command: Run, ranker: FakeRanker, tmp_path: Path
) -> None:
    state = tmp_path / "s"
    for _ in range(2):
        assert command("activate", "q", "--project", "p", "--state", str(state)).code == Exit.DONE
    assert state.read_bytes() == b"known"
    assert [one.activation_state for one in ranker.activations] == [b"", b"known"]
    assert [one.HasField("activation_state") for one in ranker.activations] == [False, True]


def test_a_refused_activation_leaves_the_state_as_it_was(command: Run, tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"old")
    ended = command("activate", " ", "--project", "p", "--state", str(tmp_path / "s"))
    assert (ended.code, ended.out) == (Exit.REFUSED, "")
    assert ended.err == "ranktrail: query is blank: ask\n"
    assert (tmp_path / "s").read_bytes() == b"old"


def test_a_failed_run_is_named_in_the_sentence(command: Run) -> None:
    ended = command("activate", "q", "--project", "unknown")
    assert ended.code == Exit.REFUSED
    assert "ranktrail runs show FAILED1" in ended.err


def test_a_trace_is_waited_for_and_printed(command: Run, history: FakeHistory, ranker: FakeRanker) -> None:
    ranker.pending_run_count, history.hidden = 1, 3
    ended = command("activate", "q", "--project", "p", "--trace")
    assert ended.code == Exit.DONE
    assert "token_budget" in ended.out
    assert "a.md#x/0/0" in ended.out


def test_a_trace_that_does_not_come_in_time_is_incomplete_and_the_fragments_are_printed(
    command: Run, history: FakeHistory, ranker: FakeRanker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_delivery.delivered_run, "__defaults__", (0.2, *run_delivery.delivered_run.__defaults__[1:]))
    ranker.pending_run_count = 1
    history.runs.clear()
    ended = command("activate", "q", "--project", "p", "--trace")
    assert ended.code == Exit.INCOMPLETE
    assert "text" in ended.out
    assert "RUN1" in ended.err


def test_an_activation_as_json_is_one_document_with_the_contract_s_names(command: Run) -> None:
    value = command("activate", "q", "--project", "p", "--trace", "--json").json
    assert value["fragments"][0]["action"] == "add"
    assert value["fragments"][0]["relevance"] is None
    assert value["next_activation_state"] == "a25vd24="
    assert value["trace"]["candidates"][0]["exclusion_reason"] == "token_budget"
    assert value["trace"]["candidates"][0]["dense_rank"] is None


def test_text_of_a_memory_never_steers_the_terminal_and_its_markup_stays_text(
    command: Run, ranker: FakeRanker, history: FakeHistory
) -> None:
    ranker.response = a_reply(path=EVIL, content=EVIL, heading_path=[EVIL])
    evil_run = a_run(query_token_count=1)
    evil_run.run.query = EVIL
    evil_run.run.failure.summary = EVIL
    evil_run.candidates[0].unit_key = EVIL
    history.runs[:] = [evil_run]
    for arguments in (("activate", "q", "--project", "p", "--trace"), ("runs", "show", "RUN1"), ("runs", "list")):
        for form in ((), ("--json",)):
            ended = command(*arguments, *form)
            assert ended.code == Exit.DONE
            assert not set(ended.out + ended.err) & set("\x1b\u202e\x07\r")
            assert "[bold]markup[/bold]" in ended.out


def test_an_absent_rank_is_a_dash_and_a_negative_score_is_shown(command: Run) -> None:
    row = next(line for line in command("runs", "show", "RUN1").out.splitlines() if "a.md#x" in line)
    assert "1 · -0.250" in row
    assert "1 · 0.01639" in row
    assert row.count("–") >= 4


def test_runs_are_listed_newest_first_up_to_the_limit_over_pages(command: Run, history: FakeHistory) -> None:
    history.runs[:] = [a_run(f"R{i}") for i in range(8)]
    value = command("runs", "list", "--limit", "5", "--json").json
    assert [one["run_id"] for one in value["runs"]] == ["R7", "R6", "R5", "R4", "R3"]


def test_filters_of_a_list_travel(command: Run, history: FakeHistory) -> None:
    command("runs", "list", "--project", "p", "--state", "failed", "--query", "x", "--unpinned", "--limit", "500")
    sent = history.listed[0]
    assert (sent.project_id, sent.state, sent.query_text) == ("p", history_pb2.RetrievalRun.STATE_FAILED, "x")
    assert (sent.HasField("pinned"), sent.pinned, sent.page_size) == (True, False, 100)
    command("runs", "list")
    assert not history.listed[-1].HasField("pinned")


def test_a_run_still_being_delivered_is_waited_for_and_an_unknown_one_is_not(
    command: Run, history: FakeHistory, ranker: FakeRanker
) -> None:
    history.hidden, ranker.pending_run_count = 2, 1
    assert command("runs", "show", "RUN1", "--json").json["run"]["run_id"] == "RUN1"
    ranker.pending_run_count = 0
    ended = command("runs", "show", "nothing")
    assert (ended.code, ended.out) == (Exit.REFUSED, "")


def test_a_watch_is_one_json_line_a_change(command: Run) -> None:
    ended = command("runs", "watch", "--after", "0", "--json")
    lines = [json.loads(line) for line in ended.out.splitlines()]
    assert [line["change_sequence"] for line in lines] == [0, 1]
    assert lines[0]["run"] is None
    assert lines[1]["run"]["state"] == "succeeded"


def test_a_sync_says_what_it_did_and_names_what_it_skipped(command: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("x")
    (folder / "loop").symlink_to("loop")
    ended = command("sync", str(folder), "--project", "p")
    assert ended.code == Exit.DONE
    assert ended.out == "added 1, changed 0, deleted 0, unchanged 0, skipped 1; the index is ready with 7 units\n"
    assert ended.err == "skipped loop: it is a symlink loop\n"
    value = command("sync", str(folder), "--project", "p", "--json").json
    assert (value["unchanged_count"], value["layer"]) == (1, "project")
    assert value["skipped"] == [{"path": "loop", "reason": "it is a symlink loop"}]


def test_a_memory_is_shown_whole_over_its_pages(command: Run, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(7):
        (folder / f"{i}.md").write_text("x")
    command("sync", str(folder), "--project", "p")
    value = command("memory", "show", "--project", "p", "--json").json
    assert [one["path"] for one in value["resources"]] == [f"{i}.md" for i in range(7)]
    assert value["next_page_token"] == ""
    assert "6.md" in command("memory", "show", "--project", "p", "--layer", "project").out


def test_an_invalid_profile_is_a_negative_result_that_names_each_problem(
    command: Run, ranker: FakeRanker, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("name = 'x'")
    assert command("profiles", "validate", str(path)).code == Exit.DONE
    ranker.problems = ["rrf.k is missing: add it", "bm25.limit is missing: add it"]
    ended = command("profiles", "validate", str(path))
    assert ended.code == Exit.NEGATIVE
    assert [line.rpartition("mine.toml: ")[2] for line in ended.out.splitlines()] == ranker.problems
    ended = command("profiles", "validate", str(path), "--json")
    assert (ended.code, ended.json["problems"]) == (Exit.NEGATIVE, ranker.problems)


def test_profiles_are_listed(command: Run) -> None:
    assert "activation.v1" in command("profiles", "list").out
    assert command("profiles", "list", "--json").json["profiles"][0]["is_default"] is True


def test_status_is_0_only_when_both_serve(command: Run, alone: Run, tmp_path: Path) -> None:
    assert command("status").code == Exit.DONE
    value = command("status", "--json").json
    assert value["ranker"]["runtime"]["recorder"]["state"] == "connected"
    assert value["history"]["serving"] is True
    ended = alone("status", "--history", f"unix:{tmp_path}/nobody.sock", "--json")
    assert ended.code == Exit.UNREACHABLE
    assert (ended.json["ranker"]["serving"], ended.json["history"]["serving"]) == (True, False)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_names_the_command(alone: Run, shell: str) -> None:
    assert "_RANKTRAIL_COMPLETE" in alone("completion", shell).out
    assert alone("completion", shell, "--json").json["shell"] == shell


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["activate"], Exit.USAGE),
        (["nothing"], Exit.USAGE),
        (["runs", "list", "--state", "odd"], Exit.USAGE),
        (["activate", "q", "--project", "p", "--max-fragments", "many"], Exit.USAGE),
        (["activate", "q", "--project", "p"], Exit.UNREACHABLE),
        (["runs", "list"], Exit.UNREACHABLE),
        (["sync", "/nowhere/at/all", "--project", "p"], Exit.REFUSED),
        (["sync", "/etc/hostname", "--project", "p"], Exit.REFUSED),
        (["activate", "caf\udce9", "--project", "p"], Exit.REFUSED),
        (["runs", "show", "\udcff"], Exit.REFUSED),
        (["profiles", "validate", "/nowhere"], Exit.REFUSED),
        (["profiles", "validate", "/"], Exit.REFUSED),
        (["status", "--ranker", "no address"], Exit.USAGE),
        (["status", "--ranker", "192.0.2.1:80"], Exit.REFUSED),
    ],
)
def test_an_error_is_one_sentence_on_standard_error_and_never_a_traceback(
    alone: Run, arguments: list[str], code: Exit
) -> None:
    ended = alone(*arguments)
    assert ended.code == code
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith("ranktrail: ")
    assert ": " in ended.err.removeprefix("ranktrail: ")
    assert "Traceback" not in ended.err


def test_a_defect_is_one_sentence_too_and_says_how_to_see_more(alone: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("\x1b[2Jwhat")

    monkeypatch.setattr(command_line, "_invoke", broken)
    ended = alone("status")
    assert ended.code == Exit.INCOMPLETE
    assert (
        ended.err
        == "ranktrail: unexpected ZeroDivisionError: ␛[2Jwhat: run it again with RANKTRAIL_DEBUG=1 for the details\n"
    )
    monkeypatch.setenv("RANKTRAIL_DEBUG", "1")
    assert "Traceback" in alone("status").err


def test_ctrl_c_ends_quietly(alone: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "_invoke", interrupted)
    ended = alone("status")
    assert (ended.code, ended.err) == (Exit.INTERRUPTED, "")


@pytest.mark.parametrize(
    "arguments", [["completion", "bash"], ["runs", "list"], ["runs", "list", "--json"], ["--help"]]
)
def test_a_reader_that_goes_ends_the_command_quietly(tmp_path: Path, arguments: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "RANKTRAIL_HOME": str(tmp_path), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "ranktrail_cli", *arguments]
    with served(tmp_path, None, FakeHistory(runs=[a_run()])):
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60, env=environment)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (Exit.READER_GONE, b"")


def test_an_error_that_nobody_reads_ends_the_command_quietly(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "ranktrail_cli", "status", "--ranker", "x", "--data-dir", str(tmp_path)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=write, check=False, timeout=60)
    os.close(write)
    assert (ended.returncode, ended.stdout) == (Exit.READER_GONE, b"")


def test_a_terminal_that_is_not_utf8_gets_escapes_instead_of_an_error(tmp_path: Path) -> None:
    history = FakeHistory(runs=[a_run()])
    history.runs[0].run.query = "東京 👩"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    command = [sys.executable, "-m", "ranktrail_cli", "runs", "show", "RUN1", "--data-dir", str(tmp_path)]
    with served(tmp_path, None, history):
        ended = subprocess.run(command, capture_output=True, check=False, timeout=60, env=environment)
        as_json = subprocess.run([*command, "--json"], capture_output=True, check=False, timeout=60, env=environment)
    assert (ended.returncode, ended.stderr) == (Exit.DONE, b"")
    assert b"\\u6771" in ended.stdout
    assert ended.stdout.isascii()
    assert as_json.stdout.isascii()
    assert json.loads(as_json.stdout)["run"]["query"] == "東京 👩"

"""`ranktrail evals` as CI runs it: a process, its exit code, its files, and a judge on a real connection."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranktrail_cli.command_line import run
from tests.fakes.judge_server import Dies, Request, Sleeps, good_reply, judge_server, material, shape

DETERMINISTIC = ("exact_match", "f1", "citation_accuracy", "retrieval_recall")
SCOPE = ("run", "--offline", "--dataset", "localrag-scope")


class Evals:
    """`ranktrail evals` with a data directory of its own: called in this process, or started as one."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = run(["evals", *arguments, "--data-dir", str(self.home)])
        return code, *self.capsys.readouterr()

    def started(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ranktrail_cli", "evals", *arguments, "--data-dir", str(self.home)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def json(self, *arguments: str) -> dict[str, Any]:
        code, out, err = self(*arguments, "--json")
        document: dict[str, Any] = json.loads(out)
        assert document["exit_code"] == code, err
        return document

    def written(self) -> list[Path]:
        return sorted((self.home / "evals").glob("*"))


@pytest.fixture
def evals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evals:
    return Evals(tmp_path / "home", capsys)


def test_the_scope_dataset_fails_for_the_right_reason_and_its_files_say_so(evals: Evals) -> None:
    process = evals.started(*SCOPE, "--json")
    found = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == found["exit_code"] == 1
    assert found["dataset"] == "localrag-scope"
    assert found["metrics"]["retrieval_recall"] == {
        "value": 0.375,
        "threshold": 0.8,
        "direction": "higher_is_better",
        "outcome": "FAIL",
        "scored": 4,
        "total": 4,
    }
    values = [
        (one["metrics"]["retrieval_recall"]["value"], "context_omission" in one["labels"]) for one in found["records"]
    ]
    assert values == [(0.0, True), (0.5, True), (0.0, True), (1.0, False)]
    reasons = {one["metrics"]["citation_accuracy"]["reason"] for one in found["records"]}
    assert reasons == {"missing_annotation"}
    html, document, junit = evals.written()
    assert (html.suffix, document.suffix, junit.suffix) == (".html", ".json", ".xml")
    assert json.loads(document.read_text()) == found
    assert document.stem == html.stem == junit.stem == found["result_id"]
    assert {path.stat().st_mode & 0o777 for path in evals.written()} == {0o600}


def test_a_passing_dataset_exits_with_0_without_a_judge(evals: Evals) -> None:
    process = evals.started("run", "--offline", "--dataset", "localrag-cited")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"PASS: exact_match, f1, citation_accuracy, retrieval_recall" in out


def judged(evals: Evals, reply: Callable[[Request], str], *options: str) -> dict[str, Any]:
    with judge_server(reply) as server:
        return evals.json(
            "run", "--offline", "--dataset", "localrag-cited", "--judge-url", server.url, "--judge-model", "m", *options
        )


def about_one(request: Request) -> bool:
    """Say whether it is the faithfulness of the case of the quiet hours."""
    return shape(request) == "SupportedStatements" and material(request)["text"].startswith("from ten in the evening")


def sleeps(request: Request) -> str:
    if about_one(request):
        raise Sleeps
    return good_reply(request)


def dies(request: Request) -> str:
    if about_one(request):
        raise Dies
    return good_reply(request)


def nonsense(request: Request) -> str:
    return "why, yes" if about_one(request) else good_reply(request)


def out_of_ten(request: Request) -> str:
    return "0.8/10" if about_one(request) else good_reply(request)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(sleeps, "judge_timeout"), (dies, "judge_error"), (nonsense, "judge_error"), (out_of_ten, "judge_error")],
)
def test_a_bad_judge_on_one_case_costs_one_value_and_nothing_else(
    evals: Evals, reply: Callable[[Request], str], reason: str
) -> None:
    options = ("--require", "faithfulness", "--require", "f1", "--case-timeout", "2")
    alone, whole, bad = (
        evals.json("run", "--offline", "--dataset", "localrag-cited"),
        judged(evals, good_reply, *options),
        judged(evals, reply, *options),
    )
    assert whole["exit_code"] == 0
    assert bad["exit_code"] == 6
    missing = [
        (record["record_id"], name, value["reason"])
        for record in bad["records"]
        for name, value in record["metrics"].items()
        if value["reason"] is not None
    ]
    assert missing == [("quiet-hours", "faithfulness", reason)]
    for one, other, first in zip(bad["records"], whole["records"], alone["records"], strict=True):
        for name in DETERMINISTIC:
            assert one["metrics"][name] == other["metrics"][name] == first["metrics"][name]
    assert bad["metrics"]["faithfulness"]["scored"] == 3
    assert [one["labels"] for one in bad["records"]].count(["evaluator_failure"]) == 1


def test_a_failed_threshold_wins_over_a_judge_that_is_not_there(evals: Evals) -> None:
    found = evals.json(
        *SCOPE, "--judge-url", "http://127.0.0.1:9/v1", "--judge-model", "m", "--require", "faithfulness"
    )
    assert found["exit_code"] == 6
    found = evals.json(*SCOPE, "--require", "faithfulness", "--require", "f1")
    assert found["exit_code"] == 1


def test_what_needs_no_judge_is_on_disk_while_the_judge_is_still_thinking(evals: Evals) -> None:
    def never(_: Request) -> str:
        raise Sleeps

    with judge_server(never) as server:
        process = evals.started(*SCOPE, "--judge-url", server.url, "--judge-model", "m")
        deadline = time.monotonic() + 30
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        (path,) = evals.written()
        stored = json.loads(path.read_text())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130
    assert stored["is_complete"] is False
    assert stored["metrics"]["retrieval_recall"]["value"] == 0.375
    assert {one["metrics"]["faithfulness"]["reason"] for one in stored["records"]} == {"judge_not_asked"}
    code, _, err = evals("compare", "localrag-scope", str(path))
    assert code == 7
    assert "interrupted" in err


def test_compare_holds_regresses_and_refuses(evals: Evals, tmp_path: Path) -> None:
    evals.json(*SCOPE)
    (path,) = (one for one in evals.written() if one.suffix == ".json")
    assert evals.json("compare", "localrag-scope", str(path))["metrics"]["f1"]["delta"] == 0
    document = json.loads(path.read_text())
    document["records"][3]["metrics"]["retrieval_recall"]["value"] = 0.0
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps(document))
    code, out, _ = evals("compare", "localrag-scope", str(worse))
    assert code == 1
    assert "worse     filter-care  retrieval_recall 1.000, now 0.000" in out
    assert evals("compare", "localrag-scope", str(worse), "--tolerance", "0.25")[0] == 0
    document["dataset_checksum"] = "0" * 64
    worse.write_text(json.dumps(document))
    code, _, err = evals("compare", "localrag-scope", str(worse))
    assert code == 7
    assert "the dataset checksum differs" in err


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("run", "--dataset", "localrag-scope"), 2, "--offline"),
        ((*SCOPE, "--threshold", "f1>=2"), 2, "is no number from 0 to 1"),
        ((*SCOPE, "--require", "f9"), 2, "is no metric"),
        ((*SCOPE, "--judge-url", "http://127.0.0.1:1/v1"), 2, "needs both --judge-url and --judge-model"),
        ((*SCOPE, "--judge-url", "nonsense", "--judge-model", "m"), 2, "is no plain http URL"),
        ((*SCOPE, "--judge-url", "http://192.0.2.1/v1", "--judge-model", "m"), 5, "add --allow-remote"),
        ((*SCOPE, "--case-timeout", "0"), 2, "--case-timeout"),
        ((*SCOPE, "--split", "dev"), 5, "is no split"),
        ((*SCOPE, "--sample", "9"), 5, "is more than the 4 records"),
        ((*SCOPE, "--version", "7"), 5, "is not known"),
        (("run", "--offline", "--dataset", "none"), 5, "is not known"),
        (("run", "--offline", "--dataset", "./none.json"), 5, "no such file"),
        (("report", "localrag-scope"), 2, "name what to write"),
        (("report", "none", "--html", "x.html"), 5, "cannot be read"),
        (("compare", "none", "none"), 5, "cannot be read"),
        (("datasets", "--dataset-dir", "/nowhere-at-all"), 5, "is no folder"),
    ],
)
def test_a_wrong_option_ends_in_one_sentence_and_its_exit_code(
    evals: Evals, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ended, _, err = evals(*arguments)
    assert ended == code, err
    assert sentence in err
    assert err.count("\n") == 1


def test_the_listing_names_every_dataset_and_a_broken_one(evals: Evals, tmp_path: Path) -> None:
    code, out, _ = evals("datasets", "--json")
    assert code == 0
    assert [one["dataset_id"] for one in json.loads(out)["datasets"]] == [
        "localrag-cited", "localrag-core", "localrag-graded", "localrag-scope",
    ]  # fmt: skip
    (tmp_path / "broken.json").write_text("{}")
    code, out, err = evals("datasets", "--dataset-dir", str(tmp_path), "--json")
    assert code == 5
    assert json.loads(out)["datasets"][-1]["problems"]
    assert "broken.json" in err


def test_help_of_the_command_line_does_not_load_the_evals() -> None:
    program = (
        "import sys, click; from ranktrail_cli.root import cli; cli.main(['--help'], standalone_mode=False);"
        "print([name for name in sys.modules if name.startswith(('ranktrail_evals', 'openai', 'scipy', 'matplotlib'))])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
    assert ended.stdout.decode().rstrip().endswith("[]")
    assert b"evals" in ended.stdout

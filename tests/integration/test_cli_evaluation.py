"""The evaluation set at the command line, with the real services: pin, judge, measure, export, clear."""

import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_cli import readiness
from ranktrail_cli.command_line import run
from ranktrail_cli.commands import case as case_command
from ranktrail_cli.exits import Exit
from tests import history_cases as cases
from tests.evaluation_sets import a_judged_set, exported, timeless
from tests.fakes.history_server import TIMEOUT, HistoryClient
from tests.history_builders import a_corpus, a_failure, a_run, digest, revisions
from tests.processes import Stack
from tests.recorded import recorded
from tests.unit.cli.running import Ended, Run

MEASURES = ["R@20", "nDCG@10", "RR", "Judged@10", "resource_diversity", "scope_violation", "stale_result"]
VARIANTS = ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked"]
JUDGMENT = {"resource_id": "doc-0001", "unit_key": "doc-0001#body/1/0", "relevance": 3, "source": "human"}


@pytest.fixture(scope="module")
def history(stack: Stack) -> Iterator[HistoryClient]:
    client = HistoryClient(f"unix:{stack.history.socket}")
    yield client
    client.close()


@pytest.fixture
def command(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Run:
    def execute(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run([*arguments, "--data-dir", str(stack.data_dir)])
        return Ended(code, *capsys.readouterr())

    return execute


def judgments_file(folder: Path, *entries: Any) -> str:
    path = folder / "judgments.json"
    path.write_text(json.dumps(entries))
    return str(path)


def test_a_query_that_was_asked_is_pinned_judged_measured_exported_and_deleted(
    command: Run, stack: Stack, tmp_path: Path
) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "deploy.md").write_text("# Deploy\n\nPush a tag, then wait for the pipeline.\n")
    synced = command("sync", str(tmp_path / "pages"), "--project", "real", "--json")
    assert synced.json["token_vector_bytes"] > 0
    assert "the token vectors of this index will take about " in synced.err
    run_id = command("activate", "how to deploy", "--project", "real", "--json").json["run_id"]
    created = command("case", "create", run_id, "--category", "deploy", "--notes", "day one", "--json").json
    case_id = created["evaluation_case"]["case_id"]
    assert (created["already_existed"], created["evaluation_case"]["notes"]) == (False, "day one")
    assert "was pinned before" in command("case", "create", run_id).out
    shown = command("case", "show", case_id, "--json").json
    found = shown["candidates"][0]
    judged = {**{key: found[key] for key in ("resource_id", "unit_key")}, "relevance": 3, "source": "human"}
    replaced = command(
        "judge",
        case_id,
        "--file",
        judgments_file(tmp_path, judged),
        "--expected-version",
        "1",
        "--author",
        "ada",
        "--json",
    ).json
    assert (replaced["judgment_version"], replaced["judgment_count"]) == (2, 1)
    page = command("case", "show", case_id).out
    assert "corpus " in page
    assert "1 resource" in page
    assert "3 an answer (human)" in page
    assert "version 2: 1 judgment by ada" in page
    assert command("report", "--project", "real", "--json").json["variants"][3]["measures"]["nDCG@10"]["mean"] == 1.0
    out = tmp_path / "set.json"
    assert command("export", "--out", str(out), "--project", "real").code == Exit.DONE
    assert json.loads(out.read_bytes())["cases"][0]["query"] == "how to deploy"
    assert command("case", "delete", case_id, "--expected-version", "2", "--yes").code == Exit.DONE
    assert command("case", "list", "--project", "real").out == "no cases\n"
    assert recorded(stack.history_stub, run_id).run.run_id == run_id


def test_cases_are_listed_newest_first_by_project_and_category(command: Run, history: HistoryClient) -> None:
    ids = [cases.pinned(history, f"listed-{n}", project_id="listed").case_id for n in range(3)]
    cases.record(history, "listed-3", project_id="listed")
    cases.create(history, "listed-3", category="odd")
    listed = command("case", "list", "--project", "listed", "--limit", "3", "--json").json["evaluation_cases"]
    assert [one["case_id"] for one in listed[1:]] == ids[:0:-1]
    odd = command("case", "list", "--project", "listed", "--category", "odd", "--json").json["evaluation_cases"]
    assert [one["run_id"] for one in odd] == ["listed-3"]
    out = command("case", "list", "--project", "listed").out
    assert all(case_id in out for case_id in ids)


def test_a_run_that_is_still_running_is_waited_for_with_a_message(command: Run, history: HistoryClient) -> None:
    frames: SimpleQueue[history_pb2.RecordRetrievalRunsRequest | None] = SimpleQueue()
    corpus = a_corpus(cases.BODIES)
    history.put(corpus)
    first, *rest = a_run("late", revised=revisions(effective_memory_hash=corpus.hash, resource_count=6))

    def finish() -> None:
        time.sleep(0.5)
        for frame in (*rest, None):
            frames.put(frame)

    frames.put(first)
    answers = history.history.RecordRetrievalRuns(iter(frames.get, None), timeout=TIMEOUT)
    _until_running(history, "late")
    thread = threading.Thread(target=finish)
    thread.start()
    ended = command("case", "create", "late", "--json")
    thread.join()
    assert len(list(answers)) == 1
    assert (ended.code, ended.json["evaluation_case"]["run_id"]) == (Exit.DONE, "late")
    assert ended.err == "Run late is on its way to history: waiting for it, at most 30 s\n"


def test_a_run_that_does_not_end_in_time_is_incomplete(
    command: Run, history: HistoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_command, "WAIT_SECONDS", 0.2)
    frames: SimpleQueue[history_pb2.RecordRetrievalRunsRequest | None] = SimpleQueue()
    frames.put(a_run("endless")[0])
    answers = history.history.RecordRetrievalRuns(iter(frames.get, None), timeout=TIMEOUT)
    _until_running(history, "endless")
    ended = command("case", "create", "endless")
    frames.put(None)
    list(answers)
    assert (ended.code, ended.out) == (Exit.INCOMPLETE, "")
    assert "'endless' is not in history after" in ended.err


def _until_running(history: HistoryClient, run_id: str) -> None:
    while run_id not in {one.run_id for one in history.list(state=history_pb2.RetrievalRun.STATE_RUNNING).runs}:
        time.sleep(0.01)


@pytest.fixture(scope="module")
def case_id(history: HistoryClient) -> str:
    return cases.pinned(history, "shared").case_id


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        ([{**JUDGMENT, "relevance": 4}], "judgments[0].relevance"),
        ([{**JUDGMENT, "relevance": -1}], "judgments[0].relevance"),
        ([{**JUDGMENT, "relevance": "3"}], "judgments[0].relevance"),
        ([JUDGMENT, JUDGMENT], "judgments[1]"),
        ([JUDGMENT, {**JUDGMENT, "unit_key": "doc-0002#body/1/0"}], "judgments[1].unit_key"),
        ([{**JUDGMENT, "unit_key": "nothing"}], "judgments[0].unit_key"),
        ([{**JUDGMENT, "resource_id": "elsewhere", "unit_key": None}], "judgments[0].resource_id"),
        ([{**JUDGMENT, "unit_key": None, "missed": True}], "judgments[0].missed"),
        ([{**JUDGMENT, "source": "crowd"}], "judgments[0].source"),
        ([{**JUDGMENT, "grade": 1}], "judgments[0].grade"),
        ([{**JUDGMENT, "notes": "x" * 8_193}], "judgments[0].notes"),
        ([7], "judgments[0]"),
    ],
)
def test_a_wrong_judgment_is_refused_by_its_entry_and_field(
    command: Run, case_id: str, tmp_path: Path, entries: list[Any], names: str
) -> None:
    ended = command("judge", case_id, "--file", judgments_file(tmp_path, *entries), "--expected-version", "1")
    assert (ended.code, ended.out) == (Exit.REFUSED, "")
    assert ended.err.startswith(f"ranktrail: {names} ")
    assert len(ended.err.splitlines()) == 1


def test_a_conflict_shows_what_both_sides_changed_and_replaces_nothing(
    command: Run, history: HistoryClient, tmp_path: Path
) -> None:
    case_id = cases.pinned(history, "contested").case_id
    cases.replace(history, case_id, 1, cases.a_judgment(1, relevance=1), cases.a_judgment(2, relevance=1), author="ada")
    cases.replace(history, case_id, 2, cases.a_judgment(1, relevance=0), cases.a_judgment(2, relevance=1), author="bob")
    mine = [JUDGMENT, {**JUDGMENT, "resource_id": "doc-0002", "unit_key": "doc-0002#body/1/0", "relevance": 2}]
    arguments = ("judge", case_id, "--file", judgments_file(tmp_path, *mine), "--expected-version", "2")
    ended = command(*arguments, "--json")
    assert ended.code == Exit.CONFLICT
    assert (ended.json["expected_judgment_version"], ended.json["current_judgment_version"]) == (2, 3)
    assert (ended.json["author"], ended.json["merged"]) == ("bob", None)
    assert [
        (one["change"], *(one[side]["relevance"] for side in ("base", "theirs", "mine")))
        for one in ended.json["changes"]
    ] == [("clash", 1, 0, 3), ("mine", 1, 1, 2)]
    human = command(*arguments)
    assert human.code == Exit.CONFLICT
    assert "version 3 by bob stands since" in human.out
    assert "0 not relevant (human)" in human.out
    assert human.err.startswith(f"ranktrail: case {case_id}: version 3 by bob stands since ")
    assert human.err.endswith("bring both together and give --expected-version 3\n")
    assert [one.relevance for one in cases.get(history, case_id).judgments] == [0, 1]


def test_a_conflict_without_a_clash_has_the_merged_set_which_can_be_sent(
    command: Run, history: HistoryClient, tmp_path: Path
) -> None:
    case_id = cases.pinned(history, "mergeable").case_id
    cases.replace(history, case_id, 1, cases.a_judgment(2, relevance=1), author="bob")
    mine = judgments_file(tmp_path, JUDGMENT)
    ended = command("judge", case_id, "--file", mine, "--expected-version", "1", "--json")
    (tmp_path / "merged.json").write_text(json.dumps(ended.json["merged"]))
    again = command("judge", case_id, "--file", str(tmp_path / "merged.json"), "--expected-version", "2")
    assert again.code == Exit.DONE
    assert [one.relevance for one in cases.get(history, case_id).judgments] == [3, 1]


def test_an_expected_version_that_never_was_is_a_conflict_that_says_so(
    command: Run, history: HistoryClient, tmp_path: Path
) -> None:
    case_id = cases.pinned(history, "future").case_id
    ended = command("judge", case_id, "--file", judgments_file(tmp_path, JUDGMENT), "--expected-version", "99")
    assert ended.code == Exit.CONFLICT
    assert "from version 99, which never was" in ended.err


def test_a_report_as_json_has_exactly_its_fields(command: Run, history: HistoryClient) -> None:
    ids = a_judged_set(history, 4, "measured")
    value = command("report", "--project", "measured", "--json").json
    assert list(value) == ["quality_gate", "case_count", "variants", "comparisons", "stage_loss", "cases"]
    assert (value["quality_gate"], value["case_count"]) == ("production quality gate: open", 4)
    assert [one["variant"] for one in value["variants"]] == VARIANTS
    for variant in value["variants"]:
        assert list(variant) == ["variant", "measures", "p50_us", "p95_us"]
        assert list(variant["measures"]) == MEASURES
        for name, mean in variant["measures"].items():
            bounds = {"low", "high"} if name == "nDCG@10" else set()
            assert set(mean) == {"mean", "scored", "total"} | bounds
            assert mean["total"] == 4
    assert {one["case_id"] for one in value["cases"]} == set(ids)
    one = command("report", "--case", ids[0], "--case", ids[1], "--json").json
    assert [found["case_id"] for found in one["cases"]] == sorted(ids[:2])


def test_a_report_for_people_has_variants_side_by_side_bars_comparisons_and_the_funnel(
    command: Run, history: HistoryClient
) -> None:
    a_judged_set(history, 6, "read")
    out = command("report", "--project", "read").out
    assert out.startswith("production quality gate: open; 6 cases, ")
    assert " of them judged by a person" in out
    assert any(all(name in line for name in VARIANTS) for line in out.splitlines())
    for text in (
        *MEASURES,
        "p95 ms",
        " of 6",
        "win/tie/loss",
        "95% interval",
        "p (Holm)",
        "in the fused set",
        "lost: ",
        "█",
    ):
        assert text in out


def test_a_report_without_cases_says_so(command: Run) -> None:
    ended = command("report", "--project", "nobody")
    assert (ended.code, ended.out) == (
        Exit.DONE,
        "production quality gate: open; 0 cases, 0 of them judged by a person\n",
    )
    assert command("report", "--project", "nobody", "--json").json["variants"][0]["measures"]["RR"]["mean"] is None


def test_every_format_is_written_as_the_service_streams_it(
    command: Run, history: HistoryClient, tmp_path: Path
) -> None:
    a_judged_set(history, 4, "out")
    written = {name: tmp_path / name for name in ("fixture", "openinference", "trec", "beir")}
    for name, out in written.items():
        value = command("export", "--out", str(out), "--format", name, "--project", "out", "--json").json
        sizes = [path.stat().st_size for path in (out, *out.rglob("*")) if path.is_file()]
        assert value == {"out": str(out), "format": name, "size_bytes": sum(sizes)}
    assert timeless(written["fixture"].read_bytes()) == timeless(exported(history, project_id="out"))
    assert all(json.loads(line) for line in written["openinference"].read_bytes().splitlines())
    assert sorted(path.name for path in written["trec"].iterdir()) == sorted(
        ["qrels.txt", "topics.tsv", *(f"{name}.run" for name in VARIANTS)]
    )
    assert (written["beir"] / "qrels" / "test.tsv").read_text().startswith("query-id\tcorpus-id\tscore\n")
    assert sorted(os.listdir(tmp_path)) == sorted(written)  # noqa: PTH208 - the names


def test_an_export_that_is_there_is_replaced_only_when_forced(
    command: Run, history: HistoryClient, tmp_path: Path
) -> None:
    a_judged_set(history, 2, "twice")
    for form in ("fixture", "trec"):
        out = ("export", "--out", str(tmp_path / form), "--format", form, "--project", "twice")
        assert [command(*out).code for _ in range(2)] == [Exit.DONE, Exit.REFUSED]
        assert command(*out, "--force").code == Exit.DONE


def test_a_damaged_body_ends_an_export_with_6_and_leaves_nothing(
    command: Run, history: HistoryClient, stack: Stack, tmp_path: Path
) -> None:
    cases.pinned(history, "damaged", bodies={"doc-0001": b"damaged one"}, candidates=1, project_id="damaged")
    name = digest(b"damaged one")
    blob = stack.data_dir / "history" / "evaluation-corpora" / "blobs" / name[:2] / name
    blob.write_bytes(b"damaged two")
    for form in ("fixture", "beir"):
        ended = command("export", "--out", str(tmp_path / form), "--format", form, "--project", "damaged")
        assert ended.code == Exit.INCOMPLETE
        assert name in ended.err
    assert list(tmp_path.iterdir()) == []


def test_clearing_says_what_would_go_and_leaves_pinned_runs(command: Run, history: HistoryClient) -> None:
    for number in range(3):
        cases.record(
            history, f"cleared-{number}", bodies={"doc-0001": b"x" * 2_048}, candidates=1, project_id="cleared"
        )
    cases.pinned(history, "kept", project_id="cleared")
    dry = command("runs", "clear", "--project", "cleared", "--dry-run")
    assert dry.out == "would delete 3 Runs and 1 body (2.0 KiB) of project cleared\n"
    assert len(history.list(project_id="cleared").runs) == 4
    ended = command("runs", "clear", "--project", "cleared", "--yes", "--json")
    assert ended.json == {
        "project_id": "cleared",
        "dry_run": False,
        "deleted_run_count": 3,
        "deleted_blob_count": 1,
        "deleted_bytes": 2_048,
    }
    assert [one.run_id for one in history.list(project_id="cleared").runs] == ["kept"]


def test_a_case_is_deleted_only_at_the_version_that_was_seen(command: Run, history: HistoryClient) -> None:
    case_id = cases.pinned(history, "deleted").case_id
    cases.replace(history, case_id, 1, cases.a_judgment())
    ended = command("case", "delete", case_id, "--expected-version", "1", "--yes")
    assert ended.code == Exit.CONFLICT
    assert command("case", "delete", case_id, "--yes", "--json").json == {"case_id": case_id, "judgment_version": 2}
    assert command("case", "show", case_id).code == Exit.REFUSED


def test_a_run_that_failed_is_no_case(command: Run, history: HistoryClient) -> None:
    history.record(a_run("broken", failure=a_failure()))
    ended = command("case", "create", "broken")
    assert (ended.code, ended.out) == (Exit.REFUSED, "")
    assert "is failed: choose a Run that succeeded" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("case", "create", "unknown"), Exit.REFUSED),
        (("case", "create", "shared", "--category", "x" * 129), Exit.REFUSED),
        (("case", "show", "unknown"), Exit.REFUSED),
        (("case", "delete", "unknown", "--yes"), Exit.REFUSED),
        (("case", "delete", "CASE"), Exit.USAGE),
        (("case", "delete", "CASE", "--json"), Exit.USAGE),
        (("case", "list", "--limit", "0"), Exit.USAGE),
        (("judge", "CASE"), Exit.USAGE),
        (("judge", "CASE", "--json"), Exit.USAGE),
        (("judge", "CASE", "--file", "FILE"), Exit.USAGE),
        (("judge", "CASE", "--expected-version", "1"), Exit.USAGE),
        (("judge", "CASE", "--file", "/nowhere", "--expected-version", "1"), Exit.REFUSED),
        (("judge", "unknown", "--file", "FILE", "--expected-version", "1"), Exit.REFUSED),
        (("judge", "CASE", "--file", "FILE", "--expected-version", "1", "--author", " "), Exit.REFUSED),
        (("judge", "CASE", "--file", "FILE", "--expected-version", "1", "--author", "x" * 257), Exit.REFUSED),
        (("report", "--case", "unknown"), Exit.REFUSED),
        (("export", "--out", "FILE"), Exit.REFUSED),
        (("export", "--out", "/nowhere/x"), Exit.REFUSED),
        (("export", "--out", "NEW", "--project", "typo"), Exit.REFUSED),
        (("export", "--out", "NEW", "--case", "unknown"), Exit.REFUSED),
        (("export", "--out", "NEW", "--format", "csv"), Exit.USAGE),
        (("export", "--out", "/proc/x"), Exit.REFUSED),
        (("runs", "clear"), Exit.USAGE),
        (("runs", "clear", "--json"), Exit.USAGE),
        (("runs", "clear", "--project", " ", "--yes"), Exit.REFUSED),
    ],
)
def test_every_refusal_is_one_sentence_with_its_exit_code(
    command: Run, case_id: str, tmp_path: Path, arguments: tuple[str, ...], code: Exit
) -> None:
    places = {"CASE": case_id, "FILE": judgments_file(tmp_path, JUDGMENT), "NEW": str(tmp_path / "new")}
    ended = command(*(places.get(one, one) for one in arguments))
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.err.splitlines()) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("case", "create", "x"),
        ("case", "list"),
        ("case", "show", "x"),
        ("judge", "x", "--file", "FILE", "--expected-version", "1"),
        ("report",),
        ("export", "--out", "NEW"),
        ("runs", "clear", "--yes"),
    ],
)
def test_without_a_service_a_command_ends_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(readiness, "GRACE_SECONDS", 0.0)
    places = {"FILE": judgments_file(tmp_path, JUDGMENT), "NEW": str(tmp_path / "new")}
    code = run([*(places.get(one, one) for one in arguments), "--history", f"unix:{tmp_path}/nobody.sock"])
    out, err = capsys.readouterr()
    assert (code, out, len(err.splitlines())) == (Exit.UNREACHABLE, "", 1)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [(("case", "show", ""), "CASE"), (("report", "--case", ""), "CASE"), (("runs", "show", "sha"), "shared")],
)
def test_a_shell_completes_ids(
    stack: Stack, case_id: str, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, ...], completed: str
) -> None:
    from click.shell_completion import ShellComplete  # noqa: PLC0415 - one test's

    from ranktrail_cli.root import cli  # noqa: PLC0415

    monkeypatch.setenv("RANKTRAIL_HOME", str(stack.data_dir))
    completer = ShellComplete(cli, {}, "ranktrail", "_RANKTRAIL_COMPLETE")
    values = [one.value for one in completer.get_completions(list(typed[:-1]), typed[-1])]
    assert (case_id if completed == "CASE" else completed) in values
    monkeypatch.setenv("RANKTRAIL_HOME", "/nowhere")
    assert completer.get_completions(list(typed[:-1]), typed[-1]) == []

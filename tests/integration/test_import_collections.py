"""`ranktrail import` of folders and fixtures, with the real services."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.collection_import import AUTHOR
from tests import evaluation_sets as sets
from tests.collections import Command, a_collection, commands_on, write_beir
from tests.fakes.history_server import RunningHistory
from tests.memories import commit_frames, remember
from tests.processes import Stack

TIMEOUT = 60.0
Case = pb.GetEvaluationCaseResponse


@pytest.fixture
def command(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Command:
    return commands_on(stack.data_dir, capsys)


def _cases(stack: Stack, project: str) -> list[Case]:
    request = pb.ListEvaluationCasesRequest(project_id=project, page_size=100)
    listed = stack.evaluation_stub.ListEvaluationCases(request, timeout=TIMEOUT).evaluation_cases
    one = stack.evaluation_stub.GetEvaluationCase
    return [one(pb.GetEvaluationCaseRequest(case_id=case.case_id), timeout=TIMEOUT) for case in reversed(listed)]


def _run(stack: Stack, case: Case) -> history_pb.GetRetrievalRunResponse:
    request = history_pb.GetRetrievalRunRequest(run_id=case.evaluation_case.run_id)
    return stack.history_stub.GetRetrievalRun(request, timeout=TIMEOUT)


def _content(case: Case) -> tuple[Any, ...]:
    """Return what makes a case, without what a store gave it."""
    head = case.evaluation_case
    judgments = tuple((one.resource_id, one.unit_key, one.relevance, one.missed, one.source) for one in case.judgments)
    return head.query, head.category, head.notes, head.corpus_hash, judgments


def _document(stack: Stack, **request: Any) -> bytes:
    frames = stack.evaluation_stub.ExportEvaluationSet(pb.ExportEvaluationSetRequest(**request), timeout=TIMEOUT)
    return b"".join(frame.content for frame in frames)


def _is_known(stack: Stack, project: str) -> bool:
    projects = stack.ranker_stub.GetRuntime(ranker_pb.GetRuntimeRequest(), timeout=TIMEOUT).projects
    return project in {one.project_id for one in projects}


def test_a_folder_becomes_resources_and_cases_that_its_qrels_judge(
    stack: Stack, command: Command, tmp_path: Path
) -> None:
    pages = {f"p{n}": f"The harbour light number {n} burns red." for n in range(70)}
    documents = [{"_id": key, "title": "", "text": text} for key, text in pages.items()]
    documents.append({"_id": "far", "title": "Bread", "text": "Knead the dough for ten minutes."})
    queries = [{"_id": "q", "text": "harbour light p7"}, {"_id": "none", "text": "Bread"}]
    folder = write_beir(tmp_path / "lights", documents, queries, ["q\tp7\t3", "q\tfar\t1", "q\tp8\t0"])
    value = command("import", folder, "--project", "lights", "--format", "beir", "--json").json
    assert (value["imported_case_count"], value["already_existing_case_count"]) == (2, 0)
    assert (value["document_count"], value["other_resource_count"], value["unit_count"]) == (71, 0, 71)
    judged, unjudged = _cases(stack, "lights")
    assert [one["case_id"] for one in value["cases"]] == [
        judged.evaluation_case.case_id,
        unjudged.evaluation_case.case_id,
    ]
    recalled = {candidate.resource_id for candidate in _run(stack, judged).candidates}
    assert "far" not in recalled
    assert [(one.resource_id, one.relevance, one.missed) for one in judged.judgments] == [
        ("far", 1, True),
        ("p7", 3, False),
        ("p8", 0, "p8" not in recalled),
    ]
    assert {(one.unit_key, one.source) for one in judged.judgments} == {("", pb.EvaluationJudgment.SOURCE_IMPORT)}
    head = judged.evaluation_case
    assert (head.judgment_author, head.notes, head.human_judged) == (AUTHOR, "query q", False)
    assert unjudged.evaluation_case.judgment_version == 1
    docnos = {line.split()[2] for line in _trec(stack, "lights")["qrels.txt"].decode().splitlines()}
    assert docnos == {"far", "p7", "p8"}


def _trec(stack: Stack, project: str) -> dict[str, bytes]:
    return sets.files_of(_document(stack, project_id=project, format=sets.Format.FORMAT_TREC))


def test_a_folder_that_was_imported_is_not_imported_again(stack: Stack, command: Command, tmp_path: Path) -> None:
    folder = a_collection(tmp_path / "c")
    arguments = ("import", folder, "--project", "again", "--format", "beir")
    assert command(*arguments).code == 0
    before = _document(stack, project_id="again")
    ended = command(*arguments)
    assert "0 cases imported, 8 there already" in ended.out
    assert sets.timeless(_document(stack, project_id="again")) == sets.timeless(before)
    # A case that a person judged since is left as it is.
    case = _cases(stack, "again")[0].evaluation_case
    request = pb.ReplaceEvaluationJudgmentsRequest(
        case_id=case.case_id, expected_judgment_version=2, author="ada", request_id="r"
    )
    stack.evaluation_stub.ReplaceEvaluationJudgments(request, timeout=TIMEOUT)
    assert command(*arguments, "--json").json["already_existing_case_count"] == 8
    assert _cases(stack, "again")[0].evaluation_case.judgment_author == "ada"


def test_what_else_a_project_holds_is_told(stack: Stack, command: Command, tmp_path: Path) -> None:
    remember(stack.ranker_stub, "shared", {"mine.md": "# Mine\n\nnothing of theirs\n"})
    folder = a_collection(tmp_path / "c", query_count=2)
    arguments = ("import", folder, "--project", "shared", "--format", "beir")
    ended = command(*arguments)
    assert ended.code == 0
    assert "the memory also has 1 resource of others" in ended.err
    remember(stack.ranker_stub, "shared", {"mine.md": "# Mine\n\nchanged\n"})
    ended = command(*arguments)
    assert "2 cases imported" in ended.out
    assert "the project also has 2 cases of others" in ended.err


def test_a_draft_over_a_document_is_refused_before_anything_is_committed(
    stack: Stack, command: Command, tmp_path: Path
) -> None:
    frames = commit_frames("drafted", {"d3": "a draft\n"}, layer=trace_pb2.LAYER_DRAFT)
    stack.ranker_stub.CommitMemory(frames, timeout=TIMEOUT)
    ended = command("import", a_collection(tmp_path / "c"), "--project", "drafted", "--format", "beir")
    assert ended.code == 5
    assert "document 'd3' has the path of a draft" in ended.err
    memory = stack.ranker_stub.GetEffectiveMemory(ranker_pb.GetEffectiveMemoryRequest(project_id="drafted"))
    assert memory.resource_count == 1


def test_nothing_of_a_folder_that_is_wrong_is_kept(stack: Stack, command: Command, tmp_path: Path) -> None:
    folder = a_collection(tmp_path / "c")
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("q1\tgone\t1\n")
    ended = command("import", folder, "--project", "refused", "--format", "beir")
    assert ended.code == 5
    assert "test.tsv, line 26: corpus-id 'gone' is no document of the collection" in ended.err
    assert not _is_known(stack, "refused")
    assert not _cases(stack, "refused")


def _import_process(stack: Stack, folder: Path) -> "subprocess.Popen[bytes]":
    arguments = ["import", str(folder), "--project", folder.name, "--format", "beir", "--data-dir", str(stack.data_dir)]
    command = [sys.executable, "-m", "ranktrail_cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_import_that_is_interrupted_leaves_whole_cases_and_goes_on_where_it_ended(
    stack: Stack, command: Command, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder = a_collection(tmp_path / number.name, query_count=60)
    process = _import_process(stack, folder)
    while len(_cases(stack, folder.name)) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    there = _cases(stack, folder.name)
    assert 3 <= len(there) < 60
    unjudged = [case for case in there if not case.judgments]
    # Only a process that is killed can stop between the pin and its judgments, of one case.
    assert len(unjudged) <= (number is signal.SIGKILL)
    value = command("import", folder, "--project", folder.name, "--format", "beir", "--json").json
    assert (value["imported_case_count"], value["already_existing_case_count"]) == (60 - len(there), len(there))
    cases = _cases(stack, folder.name)
    assert len({case.evaluation_case.notes for case in cases}) == len(cases) == 60
    assert all(len(case.judgments) == 3 for case in cases)


def test_a_case_that_was_pinned_and_not_judged_is_judged_by_the_next_import(
    stack: Stack, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_collection(tmp_path / "c")
    arguments = ("import", folder, "--project", "half", "--format", "beir")
    with monkeypatch.context() as broken, contextlib.suppress(ZeroDivisionError):
        broken.setattr("ranktrail_cli.collection_import._judgments", lambda *_: 1 // 0)
        assert command(*arguments).code != 0
    assert [case.evaluation_case.judgment_version for case in _cases(stack, "half")] == [1]
    value = command(*arguments, "--json").json
    assert (value["imported_case_count"], value["already_existing_case_count"]) == (7, 1)
    assert {case.evaluation_case.judgment_version for case in _cases(stack, "half")} == {2}


def _forget(stack: Stack, project: str) -> None:
    """Delete a project with its cases and Runs."""
    for case in _cases(stack, project):
        head = case.evaluation_case
        request = pb.DeleteEvaluationCaseRequest(case_id=head.case_id, expected_judgment_version=head.judgment_version)
        stack.evaluation_stub.DeleteEvaluationCase(request, timeout=TIMEOUT)
    stack.history_stub.ClearRetrievalRuns(history_pb.ClearRetrievalRunsRequest(project_id=project), timeout=TIMEOUT)
    stack.ranker_stub.DeleteProject(ranker_pb.DeleteProjectRequest(project_id=project), timeout=TIMEOUT)


def test_an_exported_beir_folder_comes_back_as_the_same_cases(stack: Stack, command: Command, tmp_path: Path) -> None:
    noted = {"path": "docs/guide.md", "kind": "note", "media_type": "text/markdown"}
    documents = [
        {"_id": "guide", "title": "Guide", "text": "# Guide\n\nHow.\n\n## Moor\n\nTie the rope.\n", "metadata": noted},
        {"_id": 'a b\t"c"', "title": "", "text": "Ropes\r\nand knots \u2028 here."},
        {"_id": "../x", "title": "Drift\nwood", "text": "A log that floats."},
        {"_id": "empty", "title": "Nothing", "text": ""},
    ]
    queries = [
        {"_id": "1", "text": 'tie\tthe "rope"\n', "metadata": {"category": "knots", "notes": "of a sailor"}},
        {"_id": "2", "text": "log"},
        {"_id": "3", "text": "unjudged rope"},
    ]
    qrels = ["1\tguide\t3", '1\t"a b\t""c"""\t1', "1\tempty\t2", "2\t../x\t2", "2\tguide\t0"]
    first, second = write_beir(tmp_path / "first", documents, queries, qrels), tmp_path / "second"
    assert command("import", first, "--project", "p", "--format", "beir").code == 0
    before = [(_content(case), list(_run(stack, case).candidates)) for case in _cases(stack, "p")]
    assert command("export", "--out", second, "--format", "beir", "--project", "p").code == 0
    _forget(stack, "p")
    assert command("import", second, "--project", "p", "--format", "beir").code == 0
    assert len(before) == 3
    assert [(_content(case), list(_run(stack, case).candidates)) for case in _cases(stack, "p")] == before


def test_a_fixture_comes_back_byte_for_byte(
    stack: Stack, command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("import", a_collection(tmp_path / "c"), "--project", "kept", "--format", "beir")
    first, damaged, second = (tmp_path / name for name in ("first.json", "damaged.json", "second.json"))
    assert command("export", "--out", first, "--project", "kept").code == 0
    damaged.write_bytes(first.read_bytes().replace(b"anchor", b"Anchor", 1))
    with contextlib.closing(RunningHistory(tmp_path / "empty")) as empty:
        on_empty = commands_on(empty.data_dir, capsys)
        ended = on_empty("import", damaged)
        assert (ended.code, ended.out) == (5, "")
        assert "body of digest" in ended.err
        assert empty.runtime().case_count == empty.runtime().run_count == 0
        answer = {"imported_case_count": 8, "already_existing_case_count": 0}
        assert on_empty("import", first, "--json").json == answer
        assert "0 cases imported, 8 there already" in on_empty("import", first).out
        assert on_empty("export", "--out", second).code == 0
    assert _without_time(second) == _without_time(first)


def _without_time(fixture: Path) -> bytes:
    """Return a fixture's bytes without those of the time of its export."""
    content = fixture.read_bytes()
    return content.replace(sets.read(content)["exported_at"].encode(), b"", 1)

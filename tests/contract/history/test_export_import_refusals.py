"""Fixtures that are damaged, changed or of others: refused by name, and nothing of them stays."""

import base64
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import evaluation_sets as sets
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import digest
from tests.refusals import Refusal, refused

Fixture = dict[str, Any]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two cases over six bodies; the first with two versions of judgments."""
    running = RunningHistory(tmp_path_factory.mktemp("origin") / "data")
    bodies = cases.BODIES | {"binary": b"\xff\xfe\x00"}
    case = cases.pinned(running, bodies=bodies)
    judged = [cases.a_judgment(1), cases.a_judgment(1, unit=False), cases.a_judgment(5, unit=False, missed=True)]
    cases.replace(running, case.case_id, 1, *judged)
    cases.pinned(running, "run-2", bodies=bodies)
    content = sets.exported(running)
    running.close()
    return content


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHistory]:
    """A store that stays empty, since everything is refused."""
    running = RunningHistory(tmp_path_factory.mktemp("empty") / "data")
    yield running
    running.close()


def _refused(history: RunningHistory, document: bytes) -> Refusal:
    before = history.runtime()
    refusal = refused(lambda: sets.imported(history, document))
    after = history.runtime()
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    counted = ("case_count", "run_count", "blob_count", "change_sequence")
    assert [getattr(after, name) for name in counted] == [getattr(before, name) for name in counted]
    return refusal


def _set(*path: Any, value: Any) -> Callable[[Fixture], None]:
    def change(fixture: Fixture) -> None:
        target: Any = fixture
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value

    return change


def _drop(*path: Any) -> Callable[[Fixture], None]:
    def change(fixture: Fixture) -> None:
        target: Any = fixture
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]

    return change


def _recorded_twice(fixture: Fixture) -> None:
    candidates = fixture["cases"][0]["run"]["candidates"]
    candidates[1]["unit_key"] = candidates[0]["unit_key"]


def _more_text_than_a_run_has(fixture: Fixture) -> None:
    fixture["cases"][0]["run"]["candidates"][1]["heading_path"] = ["x" * 2_621_440]


def _judged_twice(fixture: Fixture) -> None:
    judgments = fixture["judgment_versions"][1]["judgments"]
    judgments[1] = dict(judgments[0])


def _one_body_more(fixture: Fixture) -> None:
    text = next(text for text in map(str, itertools.count()) if digest(text).startswith("ff"))
    body = {"content": text, "digest": digest(text), "encoding": "utf-8", "size_bytes": len(text)}
    fixture["bodies"].append(body)


def _one_body_less(fixture: Fixture) -> None:
    fixture["bodies"] = [body for body in fixture["bodies"] if body["digest"] != fixture["resources"][0]["digest"]]


CHANGES: dict[str, Callable[[Fixture], None]] = {
    "format_version": _set("format_version", value=2),
    "format_version ": _set("format_version", value="1"),
    "exported_at": _set("exported_at", value="yesterday"),
    "unknown": _set("unknown", value=1),
    "report": _drop("report"),
    "sha256": _set("report", "case_count", value=3),
    "cases": _set("cases", value={}),
    "cases[0]": _set("cases", 0, value=None),
    "cases[0].colour": _set("cases", 0, "colour", value="red"),
    "cases[1].query": _set("cases", 1, "query", value="another"),
    "cases[1].query ": _set("cases", 1, "query", value=7),
    "cases[1].query  ": _set("cases", 1, "query", value=""),
    "cases[1].notes": _set("cases", 1, "notes", value="票" * 2_731),
    "cases[0].notes": _set("cases", 0, "notes", value="\ud83d"),
    "cases[0].create_time": _set("cases", 0, "create_time", value="2026-02-30T00:00:00.000000Z"),
    "cases[0].case_id": _set("cases", 0, "case_id", value="../../x"),
    "cases[1].case_id": lambda fixture: fixture["cases"].reverse(),
    "cases[0].judgment_count": _set("cases", 0, "judgment_count", value=4),
    "cases[0].human_judged": _set("cases", 0, "human_judged", value=False),
    "cases[0].judge_time": _set("cases", 0, "judge_time", value=None),
    "cases[0].judgment_version": _drop("judgment_versions", 1),
    "cases[0].project_id": _set("cases", 0, "project_id", value="p"),
    "cases[0].resource_count": _set("cases", 0, "resource_count", value=3),
    "cases[0].run.state": _set("cases", 0, "run", "state", value="failed"),
    "cases[0].run.run_id": _set("cases", 0, "run", "run_id", value="a/b"),
    "cases[0].run.cold": _set("cases", 0, "run", "cold", value=0),
    "cases[0].run.candidate_count": _set("cases", 0, "run", "candidate_count", value=2),
    "cases[0].run.candidates": _more_text_than_a_run_has,
    "cases[0].run.candidates[1].unit_key": _recorded_twice,
    "cases[0].run.candidates[1].layer": _set("cases", 0, "run", "candidates", 1, "layer", value="attic"),
    "cases[0].run.candidates[1].bm25_rank": _set("cases", 0, "run", "candidates", 1, "bm25_rank", value=0),
    "cases[0].run.candidates[1].rrf_rank": _set("cases", 0, "run", "candidates", 1, "rrf_rank", value=1.0),
    "cases[0].run.candidates[1].selected": _set("cases", 0, "run", "candidates", 1, "selected", value=1),
    "cases[0].run.candidates[2].exclusion_reason": _set(
        "cases", 0, "run", "candidates", 2, "exclusion_reason", value=None
    ),
    "cases[0].run.candidates[2].end_byte": _set("cases", 0, "run", "candidates", 2, "end_byte", value=9),
    "cases[0].run.candidates[2].title": _drop("cases", 0, "run", "candidates", 2, "title"),
    "cases[0].run.candidates[2].heading_path[1]": _set(
        "cases", 0, "run", "candidates", 2, "heading_path", 1, value=None
    ),
    "corpora[0].corpus_hash": _set("resources", 0, "title", value="another"),
    "corpora[0].resource_count": _drop("resources", 0),
    "bodies[7]": _one_body_more,
    "bodies[0].encoding": _set("bodies", 0, "encoding", value="utf-16"),
    "resources[0].digest": _one_body_less,
    "resources[0].size_bytes": _set("resources", 0, "size_bytes", value=1),
    "resources[0].corpus_hash": _set("resources", 0, "corpus_hash", value="0" * 64),
    "resources[1].resource_id": _set("resources", 1, "resource_id", value="a"),
    "judgment_versions[1].judgments[0].relevance": _set("judgment_versions", 1, "judgments", 0, "relevance", value=4),
    "judgment_versions[1].judgments[1].unit_key": _set(
        "judgment_versions", 1, "judgments", 1, "unit_key", value="doc-0001#nowhere"
    ),
    "judgment_versions[1].judgments[2].resource_id": _set(
        "judgment_versions", 1, "judgments", 2, "resource_id", value="doc-9999"
    ),
    "judgment_versions[1].judgments[2].missed": _set(
        "judgment_versions",
        1,
        "judgments",
        2,
        value={
            "missed": True,
            "notes": "",
            "relevance": 1,
            "resource_id": "doc-0003",
            "source": "human",
            "unit_key": None,
        },
    ),
    "judgment_versions[1].judgments[2].source": _set("judgment_versions", 1, "judgments", 2, "source", value="oracle"),
    "judgment_versions[1].judgments[1]": _judged_twice,
    "judgment_versions[1].judgments": lambda fixture: fixture["judgment_versions"][1]["judgments"].reverse(),
    "judgment_versions[0].author": _set("judgment_versions", 0, "author", value="ada"),
    "judgment_versions[0].judgment_version": _set("judgment_versions", 0, "judgment_version", value=2**63),
    "judgment_versions[0].case_id": _set("judgment_versions", 0, "case_id", value="0" * 26),
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_field_is_refused_by_name(empty: RunningHistory, document: bytes, field: str) -> None:
    fixture = sets.read(document)
    CHANGES[field](fixture)
    content = json.dumps(fixture).encode() if field in ("cases[0].notes", "sha256") else sets.signed(fixture)
    refusal = _refused(empty, content)
    assert (refusal.reason, refusal.metadata) == ("FIXTURE_INVALID", {"field": field.strip()})
    assert refusal.message.startswith(field.strip())
    assert empty.runtime().case_count == empty.runtime().run_count == 0


def test_an_unknown_version_is_named_before_anything_else_is_looked_at(empty: RunningHistory) -> None:
    refusal = _refused(empty, b'{"cases": "in another shape", "format_version": 17, "more": 1}')
    assert refusal.metadata == {"field": "format_version"}
    assert "17" in refusal.message


@pytest.mark.parametrize(
    ("content", "problem"),
    [("body 2", "another digest"), ("body", "bytes"), ("body 1 ✓", "bytes")],
)
def test_a_damaged_body_is_refused_by_its_digest(
    empty: RunningHistory, document: bytes, content: str, problem: str
) -> None:
    fixture = sets.read(document)
    (body,) = [body for body in fixture["bodies"] if body["content"] == "body 1"]
    body["content"] = content
    refusal = _refused(empty, sets.canonical(fixture))
    assert (refusal.reason, refusal.metadata) == ("BLOB_DIGEST_MISMATCH", {"digest": digest(b"body 1")})
    assert problem in refusal.message


def test_bytes_have_one_way_to_be_written(empty: RunningHistory, document: bytes) -> None:
    for wrong in ("//4B", "//4 A", "//4", base64.b64encode(b"body 1").decode()):
        fixture = sets.read(document)
        body = next(body for body in fixture["bodies"] if body["encoding"] == "base64")
        assert body["content"] == "//4A"
        body["content"] = wrong
        assert _refused(empty, sets.canonical(fixture)).reason in ("FIXTURE_INVALID", "BLOB_DIGEST_MISMATCH")


def test_a_document_that_is_cut_off_anywhere_is_refused(empty: RunningHistory, document: bytes) -> None:
    for size in [0, 1, 2, *range(3, len(document), len(document) // 60), len(document) - 1]:
        assert _refused(empty, document[:size]).reason == "FIXTURE_INVALID"


def test_what_is_no_fixture_at_all_is_refused(empty: RunningHistory, document: bytes) -> None:
    for content in (b"\xff", b"[]", b"{}", b"null", b"[" * 100_000, b'{"bodies":' + b"[" * 100_000, b"PK\x03\x04" * 99):
        assert _refused(empty, content).reason == "FIXTURE_INVALID"
    twice = document.replace(b'{"case_id":', b'{"case_id":"","case_id":', 1)
    for content in (document + b"{}", document.replace(b'"relevance":2', b'"relevance":NaN', 1), twice):
        assert content != document
        assert _refused(empty, content).reason == "FIXTURE_INVALID"


def test_another_layout_of_the_same_document_is_the_same_set(document: bytes, tmp_path: Path) -> None:
    running = RunningHistory(tmp_path / "data")
    assert sets.imported(running, json.dumps(sets.read(document), indent=2).encode(), frame_bytes=999) == (2, 0)
    assert sets.timeless(sets.exported(running)) == sets.timeless(document)
    running.close()


def test_a_case_that_became_another_is_refused_by_name(history: RunningHistory) -> None:
    first, second = cases.pinned(history), cases.pinned(history, "run-2")
    document = sets.exported(history)
    cases.replace(history, second.case_id, 1, cases.a_judgment())
    assert _refused(history, document).metadata == {"field": "cases[1].human_judged"}
    judged = sets.exported(history)
    fixture = sets.read(judged)
    fixture["judgment_versions"][2]["judgments"][0]["notes"] = "other"
    refusal = _refused(history, sets.signed(fixture))
    assert refusal.metadata == {"field": "judgment_versions[2].judgments"}
    assert cases.get(history, first.case_id).evaluation_case == first


def test_a_run_that_another_case_pins_is_refused_by_name(history: RunningHistory) -> None:
    cases.pinned(history)
    fixture = sets.read(sets.exported(history))
    for element in (*fixture["cases"], *fixture["judgment_versions"]):
        element["case_id"] = "0" * 26
    refusal = _refused(history, sets.signed(fixture))
    assert refusal.metadata == {"field": "cases[0].run_id"}


def test_another_trace_under_the_id_of_a_run_is_refused_by_name(history: RunningHistory, document: bytes) -> None:
    cases.record(history, query="another")
    assert _refused(history, document).metadata == {"field": "cases[0].run"}
    assert not history.get().HasField("evaluation_case")


def test_a_frame_that_is_too_large_is_refused(empty: RunningHistory) -> None:
    frame = pb.ImportEvaluationSetRequest(content=b" " * 1_048_577)
    refusal = refused(lambda: empty.evaluation.ImportEvaluationSet(iter([frame]), timeout=TIMEOUT))
    assert (refusal.reason, refusal.metadata) == ("FIELD_INVALID", {"field": "content", "limit": "1048576"})


def test_a_document_that_is_too_large_is_refused(
    empty: RunningHistory, document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("history_service.use_cases.import_set.MAX_FIXTURE_BYTES", len(document) - 1)
    refusal = _refused(empty, document)
    assert (refusal.reason, refusal.metadata["field"]) == ("FIELD_INVALID", "content")


def test_nothing_is_left_of_what_was_refused(document: bytes, tmp_path: Path) -> None:
    running = RunningHistory(tmp_path / "data")
    fixture = sets.read(document)
    fixture["judgment_versions"][1]["judgments"][1]["unit_key"] = "doc-0001#nowhere"
    _refused(running, sets.signed(fixture))
    directory = running.data_dir / "history"
    assert sorted(path.name for path in directory.iterdir() if path.is_file()) == [
        "local.db",
        "local.db-shm",
        "local.db-wal",
        "lock",
    ]
    assert sets.imported(running, document) == (2, 0)
    running.close()

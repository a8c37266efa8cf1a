"""Evaluation sets as fixtures: out of one store, into another, and out of that one the same."""

import contextlib
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2
from tests import evaluation_sets as sets
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, HistoryClient, HistoryProcess, RunningHistory
from tests.history_builders import a_candidate, digest
from tests.refusals import refused

BODIES = {
    "doc-0001": "text with 😀, \0, \u2028, \ufeff and \r\n".encode(),
    "doc-0002": b"\xff\xfe no text \x00",
    "doc-0003": b"\xed\xa0\x80 half of a surrogate pair",
    "doc-0004": b"",
    "doc-0005": b"the same",
    "doc-0006": b"the same",
}


@pytest.fixture
def other(tmp_path: Path) -> Any:
    running = RunningHistory(tmp_path / "other")
    yield running
    running.close()


def _whole_run(history: HistoryClient, run_id: str) -> history_service_pb2.GetRetrievalRunResponse:
    whole = history.get(run_id)
    whole.run.sequence = whole.run.change_sequence = 0
    return whole


def _versions(history: HistoryClient, case_id: str) -> list[pb.JudgmentVersion]:
    request = pb.ListJudgmentVersionsRequest(case_id=case_id, page_size=100)
    return list(history.evaluation.ListJudgmentVersions(request, timeout=TIMEOUT).versions)


def _counts(history: RunningHistory) -> list[int]:
    tables = ("retrieval_runs", "retrieval_run_candidates", "retrieval_run_resources", "retrieval_corpus_blobs")
    more = ("evaluation_corpora", "evaluation_corpus_resources", "evaluation_cases", "evaluation_judgments")
    connection = sqlite3.connect(history.data_dir / "history" / "local.db")
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables + more]  # noqa: S608
    connection.close()
    return counts


def test_a_set_that_was_imported_is_exported_the_same(history: RunningHistory, other: RunningHistory) -> None:
    case_ids = sets.a_judged_set(history) + sets.a_judged_set(history, 3, "second ✓")
    cases.pinned(history, "bodies", bodies=BODIES)
    cases.pinned(history, "nothing", bodies={}, candidates=0)
    document = sets.exported(history)
    assert sets.imported(other, document) == (11, 0)
    assert sets.canonical(sets.timeless(sets.exported(other))) == sets.canonical(sets.timeless(document))
    for case_id in case_ids:
        case = cases.get(other, case_id)
        assert case == cases.get(history, case_id)
        assert _versions(other, case_id) == _versions(history, case_id)
        run_id = case.evaluation_case.run_id
        assert _whole_run(other, run_id) == _whole_run(history, run_id)
    report = pb.GetBenchmarkReportRequest()
    assert other.evaluation.GetBenchmarkReport(report) == history.evaluation.GetBenchmarkReport(report)


def test_a_set_that_is_there_already_stays_as_it_is(history: RunningHistory, other: RunningHistory) -> None:
    sets.a_judged_set(history)
    document = sets.exported(history)
    for running, answers in ((history, [(0, 6), (0, 6)]), (other, [(6, 0), (0, 6)])):
        counts = []
        for answer in answers:
            assert sets.imported(running, document, frame_bytes=777) == answer
            counts.append(_counts(running))
        assert counts[0] == counts[1]
    cases.pinned(history, "one-more")
    assert sets.imported(other, sets.exported(history)) == (1, 6)


def test_a_fixture_is_canonical_json_in_frames_and_holds_each_body_once(history: RunningHistory) -> None:
    body = ("0123456789" * 150_000).encode()
    cases.pinned(history, bodies=BODIES | {"large": body})
    frames = sets.exported_frames(history)
    document = b"".join(frames)
    assert [len(frame) for frame in frames[:-1]] == [1_048_576] * (len(frames) - 1)
    assert 0 < len(frames[-1]) <= 1_048_576
    fixture = sets.read(document)
    assert sets.canonical(fixture) == document == sets.signed(fixture)
    found = {one["digest"]: (one["encoding"], one["size_bytes"]) for one in fixture["bodies"]}
    binary = {digest(BODIES["doc-0002"]), digest(BODIES["doc-0003"])}
    assert found == {
        digest(content): ("base64" if digest(content) in binary else "utf-8", len(content))
        for content in (*BODIES.values(), body)
    }


def test_every_array_is_in_the_order_of_ids(history: RunningHistory) -> None:
    sets.a_judged_set(history)
    sets.a_judged_set(history, 2, "another")
    fixture = sets.read(sets.exported(history))
    for member, names in {
        "bodies": ["digest"],
        "cases": ["case_id"],
        "corpora": ["corpus_hash"],
        "judgment_versions": ["case_id", "judgment_version"],
        "resources": ["corpus_hash", "resource_id"],
    }.items():
        keys = [[element[name] for name in names] for element in fixture[member]]
        assert keys == sorted(keys)
        assert keys


def test_the_same_set_is_the_same_bytes_after_a_restart_and_whatever_hashes_are_seeded_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = []
    for seed in ("0", "1"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        with HistoryProcess(tmp_path / "data") as process:
            client = HistoryClient(process.target)
            if seed == "0":
                sets.a_judged_set(client)
            documents.append(sets.exported(client))
            client.close()
            process.stop()
    first, second = (document.replace(sets.read(document)["exported_at"].encode(), b"") for document in documents)
    assert first == second


def test_the_measures_in_a_fixture_are_those_of_the_report(history: RunningHistory) -> None:
    sets.a_judged_set(history)
    fixture = sets.read(sets.exported(history))
    request = pb.GetBenchmarkReportRequest(skip_comparisons=True)
    report = history.evaluation.GetBenchmarkReport(request, timeout=TIMEOUT).report
    assert fixture["report"]["case_count"] == report.case_count == 6
    for ours, theirs in zip(fixture["report"]["variants"], report.variants, strict=True):
        assert [one["mean"] or 0 for one in ours["measures"]] == [one.mean for one in theirs.measures]
    for case, whole in zip(fixture["cases"], report.cases, strict=True):
        for ours, theirs in zip(case["report"]["variants"], whole.variants, strict=True):
            assert [one["value"] or 0 for one in ours["measures"]] == [one.value for one in theirs.measures]


def test_only_the_chosen_cases_are_exported_with_what_they_need(history: RunningHistory) -> None:
    first = sets.a_judged_set(history, 2)
    second = sets.a_judged_set(history, 2, "second")
    for request, expected in (
        ({"project_id": "second"}, second),
        ({"case_ids": [first[1], first[1]]}, [first[1]]),
        ({"project_id": "nowhere"}, []),
    ):
        fixture = sets.read(sets.exported(history, **request))
        assert [case["case_id"] for case in fixture["cases"]] == sorted(expected)
        assert {one["case_id"] for one in fixture["judgment_versions"]} == set(expected)
        assert len(fixture["corpora"]) == len({case["corpus_hash"] for case in fixture["cases"]})
    for request in ({"case_ids": ["nobody"]}, {"project_id": "second", "case_ids": first}):
        refusal = refused(lambda request=request: sets.exported(history, **request))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "CASE_NOT_FOUND")
    refusal = refused(lambda: sets.exported(history, format=99))
    assert (refusal.reason, refusal.metadata) == ("FIELD_INVALID", {"field": "format"})


def test_a_set_of_nothing_is_a_fixture(history: RunningHistory, other: RunningHistory) -> None:
    assert sets.imported(other, sets.exported(history)) == (0, 0)


@pytest.mark.parametrize("form", ["FORMAT_FIXTURE", "FORMAT_BEIR"])
def test_a_damaged_body_is_never_exported(history: RunningHistory, form: str) -> None:
    cases.pinned(history)
    for damaged in cases.BODIES.values():
        name = digest(damaged)
        path = history.data_dir / "history" / "evaluation-corpora" / "blobs" / name[:2] / name
        path.write_bytes(b"X" + damaged[1:])
        received: list[bytes] = []

        def export(received: list[bytes] = received) -> None:
            request = pb.ExportEvaluationSetRequest(format=form)  # type: ignore[arg-type]
            received.extend(one.content for one in history.evaluation.ExportEvaluationSet(request, timeout=TIMEOUT))

        refusal = refused(export)
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.DATA_LOSS, "BLOB_CORRUPT")
        assert refusal.metadata == {"digest": name}
        assert b"X" + damaged[1:] not in b"".join(received)
        path.write_bytes(damaged)


def test_what_is_deleted_during_an_export_is_still_exported(history: RunningHistory) -> None:
    bodies = {f"doc-{n:04d}": json.dumps(n).encode() + b"x" * 1_500_000 for n in range(30)}
    case = cases.pinned(history, bodies=bodies, candidates=[])
    whole = sets.exported(history)
    stream = history.evaluation.ExportEvaluationSet(pb.ExportEvaluationSetRequest(), timeout=TIMEOUT)
    received = [next(stream).content]
    cases.delete(history, case.case_id)
    history.history.ClearRetrievalRuns(history_service_pb2.ClearRetrievalRunsRequest(), timeout=TIMEOUT)
    received += [response.content for response in stream]
    assert sets.timeless(b"".join(received)) == sets.timeless(whole)
    assert refused(history.get).reason == "RUN_NOT_FOUND"


def test_an_export_that_takes_too_long_is_ended(history: RunningHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.pinned(history)
    monkeypatch.setattr("history_service.use_cases.export_set.MAX_EXPORT_SECONDS", -1)
    refusal = refused(lambda: sets.exported(history))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")


def test_a_caller_that_stops_reading_holds_no_export_open(
    history: RunningHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = {f"doc-{n:04d}": json.dumps(n).encode() + b"x" * 1_500_000 for n in range(20)}
    cases.pinned(history, bodies=bodies, candidates=[])
    monkeypatch.setattr("history_service.rpc.exchanging.MAX_EXPORT_SECONDS", 0.2)
    monkeypatch.setattr("ranktrail_serving.patience.STALL_SECONDS", 0.2)
    stream = history.evaluation.ExportEvaluationSet(pb.ExportEvaluationSetRequest(), timeout=TIMEOUT)
    next(stream)
    time.sleep(1)
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() == grpc.StatusCode.CANCELLED  # type: ignore[attr-defined]


def test_an_unpinned_run_that_is_there_already_is_pinned(history: RunningHistory, other: RunningHistory) -> None:
    case = cases.pinned(history)
    cases.record(other)
    assert sets.imported(other, sets.exported(history)) == (1, 0)
    assert other.get().run.evaluation_case_id == case.case_id
    assert [run.run_id for run in other.list().runs] == ["run-1"]


def test_imported_cases_go_on_as_others_do(history: RunningHistory, other: RunningHistory) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, cases.a_judgment())
    sets.imported(other, sets.exported(history))
    assert cases.replace(other, case.case_id, 2, cases.a_judgment(2)).judgment_version == 3
    other.history.ClearRetrievalRuns(history_service_pb2.ClearRetrievalRunsRequest(), timeout=TIMEOUT)
    assert cases.get(other, case.case_id).evaluation_case.judgment_count == 1
    cases.delete(other, case.case_id, 3)
    other.history.ClearRetrievalRuns(history_service_pb2.ClearRetrievalRunsRequest(), timeout=TIMEOUT)
    assert other.runtime().run_count == other.runtime().blob_count == 0


def test_an_imported_run_is_told_to_whoever_watches(history: RunningHistory, other: RunningHistory) -> None:
    cases.pinned(history)
    request = history_service_pb2.WatchRetrievalRunsRequest()
    watch = other.history.WatchRetrievalRuns(request, timeout=TIMEOUT)
    next(watch)
    sets.imported(other, sets.exported(history))
    assert next(watch).run.run_id == "run-1"
    watch.cancel()


def test_a_candidate_of_a_resource_outside_the_corpus_survives(history: RunningHistory, other: RunningHistory) -> None:
    stray = a_candidate(1, resource_id="gone", unit_key="gone#1", bm25_score=5e-324, dense_score=-0.0)
    cases.pinned(history, candidates=[stray, a_candidate(2)])
    document = sets.exported(history)
    sets.imported(other, document)
    assert list(other.get().candidates) == list(history.get().candidates)
    assert sets.timeless(sets.exported(other)) == sets.timeless(document)


def test_two_imports_of_one_set_at_once_make_each_case_once(history: RunningHistory, other: RunningHistory) -> None:
    sets.a_judged_set(history)
    document = sets.exported(history)
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda _: sets.imported(other, document), range(2)))
    assert sorted(answers) == [(0, 6), (6, 0)]
    assert sets.timeless(sets.exported(other)) == sets.timeless(document)


@pytest.mark.slow
def test_an_import_that_is_killed_is_there_wholly_or_not_at_all(history: RunningHistory, tmp_path: Path) -> None:
    for number in range(20):
        cases.pinned(history, f"run-{number}", candidates=[a_candidate(rank) for rank in range(1, 101)])
    document, outcomes = sets.exported(history), []
    for round_ in range(8):
        with HistoryProcess(tmp_path / str(round_)) as process, ThreadPoolExecutor(1) as pool:
            client = HistoryClient(process.target)
            answer = pool.submit(sets.imported, client, document)
            if round_ == 7:
                answer.result()
            time.sleep(0.1 * (round_ % 7))
            process.kill()
            answered = answer.exception() is None
            client.close()
        with contextlib.closing(RunningHistory(tmp_path / str(round_))) as again:
            outcomes.append((answered, again.runtime().case_count, again.runtime().run_count))
            assert sets.imported(again, document) in ((20, 0), (0, 20))
            assert sets.timeless(sets.exported(again)) == sets.timeless(document)
    assert set(outcomes) <= {(False, 0, 0), (False, 20, 20), (True, 20, 20)}
    assert len(set(outcomes)) > 1

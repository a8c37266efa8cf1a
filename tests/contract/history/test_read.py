"""Lists, whole Runs and their memory."""

import sqlite3
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import TIMEOUT, RunningHistory, error_of
from tests.history_builders import CREATE_TIME, a_candidate, a_corpus, a_failure, a_run, revisions


def _pages(history: RunningHistory, **request: Any) -> list[list[str]]:
    pages, token = [], ""
    while True:
        answer = history.list(page_token=token, **request)
        pages.append([run.run_id for run in answer.runs])
        token = answer.next_page_token
        if not token:
            return pages


def _refusal(call: Any, request: Any) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    with pytest.raises(grpc.RpcError) as error:
        call(request, timeout=TIMEOUT)
    return error_of(error.value)


def test_pages_are_newest_first_and_hold_every_run_once(history: RunningHistory) -> None:
    history.record(
        [frame for n in range(7) for frame in a_run(f"run-{n}", create_time=Timestamp(seconds=CREATE_TIME + n))]
    )
    assert _pages(history, page_size=3) == [["run-6", "run-5", "run-4"], ["run-3", "run-2", "run-1"], ["run-0"]]
    assert _pages(history, page_size=7) == [[f"run-{n}" for n in range(6, -1, -1)]]


def test_runs_of_one_instant_are_paged_by_arrival(history: RunningHistory) -> None:
    for n in range(5):
        history.record(a_run(f"run-{n}"))
    assert _pages(history, page_size=2) == [["run-4", "run-3"], ["run-2", "run-1"], ["run-0"]]


def test_a_run_that_arrives_meanwhile_shifts_no_page(history: RunningHistory) -> None:
    for n in range(4):
        history.record(a_run(f"run-{n}", create_time=Timestamp(seconds=CREATE_TIME + n)))
    first = history.list(page_size=2)
    history.record(a_run("run-9", create_time=Timestamp(seconds=CREATE_TIME + 9)))
    second = history.list(page_size=2, page_token=first.next_page_token)
    assert [run.run_id for run in (*first.runs, *second.runs)] == ["run-3", "run-2", "run-1", "run-0"]


def test_the_default_page_has_50_and_the_largest_100(history: RunningHistory) -> None:
    for start in range(0, 104, 26):
        history.record([frame for n in range(start, start + 26) for frame in a_run(f"run-{n}", candidates=0)])
    assert [len(history.list(page_size=size).runs) for size in (0, 1, 100, 101, 100_000)] == [50, 1, 100, 100, 100]


def test_filters_choose_and_a_token_is_good_for_its_own_filters_only(history: RunningHistory) -> None:
    history.record(a_run("a", query="Wie DEPLOYEN wir?", project_id="p"))
    history.record(a_run("b", query="Straße\0Nr", failure=a_failure(), create_time=Timestamp(seconds=CREATE_TIME + 5)))
    history.record(a_run("c", create_time=Timestamp(seconds=CREATE_TIME + 9, nanos=1_000)))

    def listed(**request: Any) -> list[str]:
        return [run.run_id for run in history.list(**request).runs]

    assert listed(project_id="p") == ["a"]
    assert listed(state=pb.RetrievalRun.STATE_FAILED) == ["b"]
    assert listed(query_text="deployen WIR") == ["a"]
    assert listed(query_text="STRASSE\0n") == ["b"]
    assert listed(create_time_from=Timestamp(seconds=CREATE_TIME + 5)) == ["c", "b"]
    assert listed(create_time_to=Timestamp(seconds=CREATE_TIME + 5)) == ["a"]
    assert listed(create_time_from=Timestamp(seconds=CREATE_TIME + 9, nanos=1_001)) == []
    assert listed(pinned=False) == ["c", "b", "a"]
    assert listed(pinned=True) == []
    token = history.list(page_size=1, pinned=False).next_page_token
    assert listed(page_size=2, pinned=False, page_token=token) == ["b", "a"]
    for other in ({}, {"pinned": True}, {"project_id": "p", "pinned": False}, {"pinned": False, "query_text": "w"}):
        refusal = _refusal(history.history.ListRetrievalRuns, pb.ListRetrievalRunsRequest(page_token=token, **other))
        assert refusal == (grpc.StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID", {"field": "page_token"})


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [
        ({"page_size": -1}, "page_size"),
        ({"state": 9}, "state"),
        ({"query_text": "x" * 1_025}, "query_text"),
        ({"project_id": "x" * 513}, "project_id"),
        ({"create_time_from": Timestamp(seconds=2**60)}, "create_time_from"),
        ({"create_time_to": Timestamp(nanos=-1)}, "create_time_to"),
    ],
)
def test_a_wrong_filter_is_refused_and_named(
    history: RunningHistory, request_fields: dict[str, Any], field: str
) -> None:
    request = pb.ListRetrievalRunsRequest(**request_fields)
    code, reason, metadata = _refusal(history.history.ListRetrievalRuns, request)
    assert (code, reason, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", field)


def test_an_unknown_run_is_not_found_by_any_method(history: RunningHistory) -> None:
    stub = history.history
    wanted = (grpc.StatusCode.NOT_FOUND, "RUN_NOT_FOUND", {"run_id": "nobody"})
    assert _refusal(stub.GetRetrievalRun, pb.GetRetrievalRunRequest(run_id="nobody")) == wanted
    assert _refusal(stub.ListRunResources, pb.ListRunResourcesRequest(run_id="nobody")) == wanted
    read = pb.ReadRunResourceRequest(run_id="nobody", resource_id="guide")
    assert _refusal(lambda request, timeout: list(stub.ReadRunResource(request, timeout=timeout)), read) == wanted


@pytest.mark.parametrize("run_id", ["", "../../etc/passwd", "a\nb", "٠", "r" * 129, "票" * 5_000])
def test_a_run_id_that_is_none_is_refused_before_it_is_looked_for(history: RunningHistory, run_id: str) -> None:
    code, reason, metadata = _refusal(history.history.GetRetrievalRun, pb.GetRetrievalRunRequest(run_id=run_id))
    assert (code, reason, metadata["field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", "run_id")


def test_a_run_lists_its_memory_and_shows_the_rows_of_its_candidates(history: RunningHistory) -> None:
    corpus = a_corpus({f"doc-{n:04}": f"body {n}".encode() for n in range(1, 12)})
    history.put(corpus)
    rows = [a_candidate(3), a_candidate(1), a_candidate(2, resource_id="gone")]
    history.record(a_run(candidates=rows, revised=revisions(effective_memory_hash=corpus.hash, resource_count=11)))
    whole = history.get()
    assert list(whole.resources) == [corpus.resources[0], corpus.resources[2]]
    found, token = [], ""
    while token or not found:
        request = pb.ListRunResourcesRequest(run_id="run-1", page_size=4, page_token=token)
        page = history.history.ListRunResources(request, timeout=TIMEOUT)
        assert page.resource_count == 11
        found += page.resources
        token = page.next_page_token
    assert found == corpus.resources


def test_a_token_of_one_runs_memory_is_not_good_for_anothers(history: RunningHistory) -> None:
    corpus = a_corpus({"a": b"1", "b": b"2"})
    history.put(corpus)
    for run_id in ("one", "two"):
        history.record(a_run(run_id, revised=revisions(effective_memory_hash=corpus.hash)))
    request = pb.ListRunResourcesRequest(run_id="one", page_size=1)
    token = history.history.ListRunResources(request, timeout=TIMEOUT).next_page_token
    request = pb.ListRunResourcesRequest(run_id="two", page_size=1, page_token=token)
    assert _refusal(history.history.ListRunResources, request)[1] == "PAGE_TOKEN_INVALID"


def test_a_run_without_a_memory_has_no_resources(history: RunningHistory) -> None:
    frames = a_run(failure=a_failure())
    history.record([frames[0], *frames[2:]])
    page = history.history.ListRunResources(pb.ListRunResourcesRequest(run_id="run-1"), timeout=TIMEOUT)
    assert (list(page.resources), page.resource_count, page.next_page_token) == ([], 0, "")


def test_a_resource_outside_the_memory_is_not_found(history: RunningHistory) -> None:
    history.record(a_run())
    stub = history.history
    for resource_id, reason in [("guide", "RESOURCE_NOT_FOUND"), ("", "FIELD_INVALID"), ("r" * 513, "FIELD_INVALID")]:
        request = pb.ReadRunResourceRequest(run_id="run-1", resource_id=resource_id)
        assert _refusal(lambda r, timeout: list(stub.ReadRunResource(r, timeout=timeout)), request)[1] == reason


def test_the_largest_run_that_is_recorded_can_be_read(history: RunningHistory) -> None:
    rows = [a_candidate(n, excerpt="票" * 1_200, title="t" * 600, path="p" * 300) for n in range(1, 501)]
    names = {row.resource_id: row.resource_id.encode() for row in rows}
    corpus = a_corpus(names)
    history.put(corpus)
    frames = a_run(candidates=rows, frame_size=100, revised=revisions(effective_memory_hash=corpus.hash))
    assert history.record(frames)["run-1"].HasField("recorded")
    assert history.get().ByteSize() > 2_000_000


def test_a_pinned_run_shows_its_case_and_the_present_judgments(history: RunningHistory) -> None:
    history.record(a_run())
    run = history.get().run
    _pin(history, run)
    whole = history.get()
    assert whole.run.evaluation_case_id == whole.evaluation_case.case_id == "case-1"
    assert whole.evaluation_case.judgment_version == 2
    assert whole.evaluation_case.human_judged
    assert [(j.resource_id, j.unit_key, j.relevance, j.missed) for j in whole.judgments] == [
        ("doc-0001", "doc-0001#body/1/0", 3, False),
        ("missing", "", 1, True),
    ]
    assert not whole.judgments[1].HasField("unit_key")
    assert whole.judgments[0].source == evaluation.EvaluationJudgment.SOURCE_HUMAN
    assert [listed.run_id for listed in history.list(pinned=True).runs] == ["run-1"]
    assert history.runtime().case_count == 1


def _pin(history: RunningHistory, run: pb.RetrievalRun) -> None:
    connection = sqlite3.connect(history.data_dir / "history" / "local.db")
    with connection:
        connection.execute("INSERT INTO evaluation_corpora VALUES (?, 'demo', 0, 1)", (run.effective_memory_hash,))
        connection.execute(
            "INSERT INTO evaluation_cases (case_id, run_sequence, corpus_hash, project_id, query, create_time_us, "
            "judgment_version, judgment_count, human_judged, judge_time_us, judgment_author) "
            "VALUES ('case-1', ?, ?, 'demo', ?, 1, 2, 2, 1, 5, 'ada')",
            (run.sequence, run.effective_memory_hash, run.query),
        )
        judgments = [
            (1, 1, 0, "", 1, None, None, None, None, None, None),
            (1, 2, 0, "ada", 5, None, None, None, None, None, None),
            (1, 2, 1, None, None, "doc-0001", "doc-0001#body/1/0", 3, 0, "", "human"),
            (1, 2, 2, None, None, "missing", None, 1, 1, "note", "import"),
        ]
        connection.executemany(
            "INSERT INTO evaluation_judgments (case_sequence, judgment_version, position, author, judge_time_us, "
            "resource_id, unit_key, relevance, missed, notes, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            judgments,
        )
    connection.close()

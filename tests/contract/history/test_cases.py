"""Cases: pinned from a Run, read, listed and deleted."""

import re
import sqlite3
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import a_corpus, a_failure, a_run, a_start
from tests.refusals import refused


def _listed(history: RunningHistory, **request: Any) -> list[list[str]]:
    pages, token = [], ""
    while True:
        message = pb.ListEvaluationCasesRequest(page_token=token, **request)
        answer = history.evaluation.ListEvaluationCases(message, timeout=TIMEOUT)
        pages.append([case.run_id for case in answer.evaluation_cases])
        token = answer.next_page_token
        if not token:
            return pages


def _corpus(history: RunningHistory, case_id: str, **request: Any) -> tuple[list[str], int]:
    found, token = [], ""
    while True:
        message = pb.ListCorpusResourcesRequest(case_id=case_id, page_token=token, **request)
        answer = history.evaluation.ListCorpusResources(message, timeout=TIMEOUT)
        found += [resource.resource_id for resource in answer.resources]
        token = answer.next_page_token
        if not token:
            return found, answer.resource_count


def _rows(history: RunningHistory, statement: str) -> list[Any]:
    connection = sqlite3.connect(history.data_dir / "history" / "local.db")
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def test_a_case_says_what_it_was_pinned_from(history: RunningHistory) -> None:
    cases.record(history, query="how?\0 ✓")
    case = cases.create(history, category="deploy", notes="n" * 8_192)
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", case.case_id)
    assert (case.run_id, case.project_id, case.query) == ("run-1", "demo", "how?\0 ✓")
    assert (case.corpus_hash, case.resource_count) == (a_corpus(cases.BODIES).hash, 6)
    assert (case.category, case.notes) == ("deploy", "n" * 8_192)
    assert (case.judgment_version, case.judgment_count, case.human_judged, case.judgment_author) == (1, 0, False, "")
    assert case.create_time.seconds > 0
    assert not case.HasField("judge_time")
    assert cases.get(history, case.case_id) == pb.GetEvaluationCaseResponse(evaluation_case=case)
    assert history.get().evaluation_case == case
    assert history.get().run.evaluation_case_id == case.case_id


def test_the_same_run_again_is_the_same_case_and_stays_as_it_was(history: RunningHistory) -> None:
    first = cases.pinned(history)
    again = history.evaluation.CreateEvaluationCase(
        pb.CreateEvaluationCaseRequest(run_id="run-1", category="other", notes="other"), timeout=TIMEOUT
    )
    assert again.already_existed
    assert again.evaluation_case == first


def test_runs_of_one_memory_share_one_frozen_corpus(history: RunningHistory) -> None:
    for run_id in ("one", "two", "three"):
        cases.pinned(history, run_id)
    assert _rows(history, "SELECT count(*) FROM evaluation_corpora") == [(1,)]
    assert _rows(history, "SELECT count(*) FROM evaluation_corpus_resources") == [(6,)]


def test_a_run_over_an_empty_memory_can_be_pinned(history: RunningHistory) -> None:
    case = cases.pinned(history, bodies={}, candidates=0)
    assert case.resource_count == 0
    assert _corpus(history, case.case_id) == ([], 0)


def test_only_a_succeeded_run_can_be_pinned(history: RunningHistory) -> None:
    history.record(a_run("failed", failure=a_failure()))
    history.record([a_start("running")])
    for run_id in ("failed", "running"):
        refusal = refused(lambda run_id=run_id: cases.create(history, run_id))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "RUN_NOT_SUCCEEDED")
        assert refusal.metadata["run_id"] == run_id
        assert refusal.metadata["state"] in ("failed", "running")
    unknown = refused(lambda: cases.create(history, "nobody"))
    assert (unknown.code, unknown.reason, unknown.metadata) == (
        grpc.StatusCode.NOT_FOUND,
        "RUN_NOT_FOUND",
        {"run_id": "nobody"},
    )
    assert history.runtime().case_count == 0


@pytest.mark.parametrize(
    ("request_fields", "field"),
    [
        ({"run_id": ""}, "run_id"),
        ({"run_id": "../x"}, "run_id"),
        ({"category": "c" * 129}, "category"),
        ({"notes": "票" * 2_731}, "notes"),
    ],
)
def test_a_wrong_field_is_refused_and_named(
    history: RunningHistory, request_fields: dict[str, Any], field: str
) -> None:
    cases.record(history)
    refusal = refused(lambda: cases.create(history, **({"run_id": "run-1"} | request_fields)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")
    assert refusal.metadata["field"] == field
    assert history.runtime().case_count == 0


def test_a_case_that_is_not_there_is_not_found_by_any_method(history: RunningHistory) -> None:
    stub = history.evaluation
    for case_id in ("01HZZZZZZZZZZZZZZZZZZZZZZZ", "../../etc/passwd", "a\0b", "票" * 5_000):
        calls: list[Callable[[], Any]] = [
            lambda case_id=case_id: stub.GetEvaluationCase(pb.GetEvaluationCaseRequest(case_id=case_id)),
            lambda case_id=case_id: stub.DeleteEvaluationCase(pb.DeleteEvaluationCaseRequest(case_id=case_id)),
            lambda case_id=case_id: stub.ListCorpusResources(pb.ListCorpusResourcesRequest(case_id=case_id)),
            lambda case_id=case_id: stub.ListJudgmentVersions(pb.ListJudgmentVersionsRequest(case_id=case_id)),
            lambda case_id=case_id: cases.replace(history, case_id, 1),
            lambda case_id=case_id: stub.GetBenchmarkReport(pb.GetBenchmarkReportRequest(case_ids=[case_id])),
        ]
        for call in calls:
            refusal = refused(call)
            assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "CASE_NOT_FOUND")
            assert case_id.startswith(refusal.metadata["case_id"])
    missing = refused(lambda: cases.get(history, ""))
    assert (missing.reason, missing.metadata) == ("FIELD_INVALID", {"field": "case_id"})


def test_cases_are_listed_newest_first_and_by_what_is_asked_for(history: RunningHistory) -> None:
    for n in range(5):
        cases.record(history, f"run-{n}", project_id="p" if n % 2 else "demo")
        cases.create(history, f"run-{n}", category="even" if n % 2 == 0 else "")
    assert _listed(history, page_size=2) == [["run-4", "run-3"], ["run-2", "run-1"], ["run-0"]]
    assert _listed(history, project_id="p") == [["run-3", "run-1"]]
    assert _listed(history, category="even", page_size=2) == [["run-4", "run-2"], ["run-0"]]
    assert _listed(history, category="even", project_id="p") == [[]]


def test_a_case_that_comes_meanwhile_shifts_no_page_and_a_token_is_good_for_its_own_filters(
    history: RunningHistory,
) -> None:
    for n in range(3):
        cases.pinned(history, f"run-{n}")
    stub = history.evaluation
    first = stub.ListEvaluationCases(pb.ListEvaluationCasesRequest(page_size=1), timeout=TIMEOUT)
    cases.pinned(history, "run-9")
    request = pb.ListEvaluationCasesRequest(page_token=first.next_page_token)
    rest = stub.ListEvaluationCases(request, timeout=TIMEOUT).evaluation_cases
    assert [case.run_id for case in rest] == ["run-1", "run-0"]
    for other in ({"project_id": "demo"}, {"category": "x"}, {"page_token": "made-up"}):
        wrong = pb.ListEvaluationCasesRequest(**({"page_token": first.next_page_token} | other))
        refusal = refused(lambda wrong=wrong: stub.ListEvaluationCases(wrong, timeout=TIMEOUT))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID")
    for wrong in ({"page_size": -1}, {"project_id": "p" * 513}, {"category": "c" * 129}):
        request = pb.ListEvaluationCasesRequest(**wrong)
        refusal = refused(lambda request=request: stub.ListEvaluationCases(request, timeout=TIMEOUT))
        assert (refusal.reason, refusal.metadata["field"]) == ("FIELD_INVALID", next(iter(wrong)))


def test_a_corpus_is_searched_in_ids_paths_and_titles_without_regard_to_case(history: RunningHistory) -> None:
    bodies = {name: name.encode() for name in ("alpha", "beta-STRASSE", "gamma%", "delta_1", "nul\0ALPHA")}
    case = cases.pinned(history, bodies=bodies, candidates=0)
    for text, found in {
        "": sorted(bodies),
        "ALPHA": ["alpha", "nul\0ALPHA"],
        "straße": ["beta-STRASSE"],
        "%": ["gamma%"],
        "_": ["delta_1"],
        "ul\0al": ["nul\0ALPHA"],
        ".md": sorted(bodies),
        "nowhere": [],
    }.items():
        assert _corpus(history, case.case_id, text=text) == (found, len(found))
        assert _corpus(history, case.case_id, text=text, page_size=1) == (found, len(found))


def test_a_corpus_token_is_good_for_its_case_and_text_only(history: RunningHistory) -> None:
    case, other = cases.pinned(history), cases.pinned(history, "run-2")
    stub = history.evaluation
    request = pb.ListCorpusResourcesRequest(case_id=case.case_id, page_size=1)
    token = stub.ListCorpusResources(request, timeout=TIMEOUT).next_page_token
    for wrong in ({"case_id": other.case_id}, {"case_id": case.case_id, "text": "doc"}):
        request = pb.ListCorpusResourcesRequest(page_token=token, **wrong)
        assert refused(lambda r=request: stub.ListCorpusResources(r, timeout=TIMEOUT)).reason == "PAGE_TOKEN_INVALID"
    request = pb.ListCorpusResourcesRequest(case_id=case.case_id, text="t" * 1_025)
    refusal = refused(lambda: stub.ListCorpusResources(request, timeout=TIMEOUT))
    assert (refusal.reason, refusal.metadata) == ("FIELD_INVALID", {"field": "text", "limit": "1024"})


def test_a_deleted_case_unpins_its_run_and_leaves_nothing_of_itself(history: RunningHistory) -> None:
    case, other = cases.pinned(history), cases.pinned(history, "run-2")
    cases.replace(history, case.case_id, 1, cases.a_judgment())
    cases.delete(history, case.case_id, 2)
    assert refused(lambda: cases.get(history, case.case_id)).reason == "CASE_NOT_FOUND"
    assert [run.run_id for run in history.list(pinned=True).runs] == ["run-2"]
    assert not history.get().HasField("evaluation_case")
    assert _rows(history, "SELECT count(*) FROM evaluation_judgments") == [(1,)]
    assert _rows(history, "SELECT count(*) FROM evaluation_corpus_resources") == [(6,)]
    cases.delete(history, other.case_id)
    for table in ("evaluation_judgments", "evaluation_corpora", "evaluation_corpus_resources"):
        assert _rows(history, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608
    assert cases.create(history).case_id not in (case.case_id, other.case_id)


@pytest.mark.parametrize("expected", [0, 1, 3, -1, 2**63 - 1])
def test_a_case_that_was_judged_meanwhile_is_not_deleted(history: RunningHistory, expected: int) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, cases.a_judgment(), author="grace")
    refusal = refused(lambda: cases.delete(history, case.case_id, expected))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "EVALUATION_JUDGMENT_CONFLICT")
    assert refusal.metadata["case_id"] == case.case_id
    assert (refusal.metadata["expected"], refusal.metadata["current"]) == (str(expected), "2")
    assert refusal.metadata["author"] == "grace"
    assert cases.get(history, case.case_id).evaluation_case.judgment_count == 1

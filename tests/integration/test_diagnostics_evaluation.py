"""Cases, judgments and the evaluation set over HTTP, against a real history."""

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_diagnostics.blinding import Blind, pool
from tests import history_cases as cases
from tests.diagnostics_history import running_history
from tests.diagnostics_pages import Pages, elements, links, served_pages
from tests.evaluation_sets import a_judged_set, exported, files_of, timeless
from tests.fakes.history_server import HistoryClient
from tests.history_builders import a_candidate

HOSTILE = "\"><img src=x onerror=alert(1)></script><script>alert(1)</script>'\u202e\x7f{{7*7}}"
WRITES = (
    "/runs/run-1/case",
    "/cases/x/judgments",
    "/cases/x/delete?version=1",
    "/evaluation/import",
    "/evaluation/clear",
)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[HistoryClient, Pages]]:
    with running_history() as (service, client), served_pages(service.data_dir) as running:
        yield client, running


@pytest.fixture
def history(served: tuple[HistoryClient, Pages]) -> Iterator[HistoryClient]:
    """A history that is empty again afterwards."""
    client = served[0]
    yield client
    for one in client.evaluation.ListEvaluationCases(pb.ListEvaluationCasesRequest(page_size=100)).evaluation_cases:
        cases.delete(client, one.case_id, one.judgment_version)
    client.history.ClearRetrievalRuns(history_pb2.ClearRetrievalRunsRequest())


@pytest.fixture
def pages(served: tuple[HistoryClient, Pages]) -> Pages:
    return served[1]


def post(pages: Pages, path: str, **options: Any) -> httpx2.Response:
    with pages.client(timeout=60) as client:
        return client.post(path, **options)


def judgments(case_id: str, version: int, *judged: dict[str, Any], **changes: Any) -> dict[str, Any]:
    sent = {"expected_judgment_version": version, "author": "mia", "request_id": f"{case_id}-{version}"}
    return {**sent, "judgments": list(judged), **changes}


def judged(number: int, relevance: int, **changes: Any) -> dict[str, Any]:
    subject = {"resource_id": f"doc-{number:04d}", "unit_key": f"doc-{number:04d}#body/1/0"}
    return {**subject, "relevance": relevance, "missed": False, "notes": "", "source": "human", **changes}


def test_a_run_is_pinned_once(pages: Pages, history: HistoryClient) -> None:
    cases.record(history)
    assert 'hx-post="/runs/run-1/case"' in pages.get("/runs/run-1").text
    first, second = (post(pages, "/runs/run-1/case").headers["hx-redirect"] for _ in range(2))
    assert first == second
    assert links(pages.get("/runs/run-1").text, "/cases/.*") == [first]
    assert pages.get(first).status_code == 200
    assert post(pages, "/runs/nothing/case").status_code == 404


def test_judgments_are_saved_under_the_version_that_was_seen(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    path = f"/cases/{case.case_id}/judgments"
    whole = {"resource_id": "doc-0005", "unit_key": None, "missed": True, "notes": HOSTILE}
    answer = post(pages, path, json=judgments(case.case_id, 1, judged(1, 3), judged(5, 2, **whole)))
    assert answer.json()["judgment_version"] == 2
    stored = cases.get(history, case.case_id)
    assert stored.evaluation_case.judgment_author == "mia"
    assert [(one.resource_id, one.relevance, one.missed) for one in stored.judgments] == [
        ("doc-0001", 3, False),
        ("doc-0005", 2, True),
    ]
    assert stored.judgments[1].notes == HOSTILE
    document = next(
        found["data-case"]
        for _, found in elements(pages.get(f"/cases/{case.case_id}").text).found
        if "data-case" in found
    )
    assert json.loads(str(document))["judgments"][1]["notes"] == HOSTILE


def test_a_conflict_shows_all_three_sides_and_saves_nothing(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, cases.a_judgment(1, relevance=1))
    cases.replace(history, case.case_id, 2, cases.a_judgment(1, relevance=2), author="zoe")
    answer = post(
        pages, f"/cases/{case.case_id}/judgments", json=judgments(case.case_id, 2, judged(1, 3), judged(2, 0))
    )
    assert answer.status_code == 409
    text = " ".join(elements(answer.text).text.split())
    for words in ("version 2, ada", "version 3, zoe", "1 marginally relevant", "2 relevant", "3 an answer", "1 of 2"):
        assert words in text
    assert cases.get(history, case.case_id).evaluation_case.judgment_version == 3
    versions = elements(pages.get(f"/cases/{case.case_id}/versions").text).text
    assert all(f"version {number}" in versions for number in (1, 2, 3))


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"nonsense", b'{"judgments": []}', b"[" * 100_000])
def test_what_is_no_judgments_is_refused(pages: Pages, history: HistoryClient, body: bytes) -> None:
    case = cases.pinned(history)
    assert post(pages, f"/cases/{case.case_id}/judgments", content=body).status_code == 400


def test_a_refused_judgment_is_named(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    answer = post(pages, f"/cases/{case.case_id}/judgments", json=judgments(case.case_id, 1, judged(1, 4)))
    assert answer.status_code == 400
    assert "judgments[0].relevance" in answer.text


def test_a_blind_page_holds_the_pool_and_no_rank_or_score(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    assert (
        pages.get(f"/cases/{case.case_id}", params={"blind": 2})
        .headers["location"]
        .startswith(f"/cases/{case.case_id}?blind=2&seed=")
    )
    page = pages.get(f"/cases/{case.case_id}", params={"blind": 2, "seed": "7"})
    trace = list(history.get("run-1").candidates)
    shown = [str(found["data-unit"]) for _, found in elements(page.text).found if "data-unit" in found]
    assert len(shown) == len(pool(trace, 2)) == len(Blind(2, "7").rows(trace)) == 2
    assert page.text == pages.get(f"/cases/{case.case_id}", params={"blind": 2, "seed": "7"}).text
    assert '<th class="num' not in page.text
    assert "/runs/run-1" not in page.text
    unit = pages.get(f"/cases/{case.case_id}/units/{shown[0]}").text
    assert "reranker" not in unit.lower()
    assert pages.get(f"/cases/{case.case_id}", params={"blind": "0"}).status_code == 400


def test_seeds_are_orders_of_their_own_and_stay_so() -> None:
    rows = [a_candidate(number) for number in range(1, 9)]
    orders = {seed: [one.resource_id for one in Blind(20, seed).rows(rows)] for seed in "123456"}
    assert len({tuple(order) for order in orders.values()}) > 4
    assert all(sorted(order) == sorted(one.resource_id for one in rows) for order in orders.values())


def test_missed_evidence_is_searched_in_the_frozen_corpus(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    found = elements(pages.get(f"/cases/{case.case_id}/corpus", params={"text": "0005"}).text).found
    assert [json.loads(str(one["data-resource"]))[0] for _, one in found if "data-resource" in one] == ["doc-0005"]
    text = pages.get(f"/cases/{case.case_id}/resource", params={"id": "doc-0005"}).text
    assert "body" in elements(text).text
    assert pages.get(f"/cases/{case.case_id}/resource", params={"id": "nothing"}).status_code == 404


def test_the_report_has_the_numbers_of_the_service_in_drawing_and_table(pages: Pages, history: HistoryClient) -> None:
    a_judged_set(history)
    report = history.evaluation.GetBenchmarkReport(pb.GetBenchmarkReportRequest(), timeout=30).report
    page = pages.get("/evaluation/report").text
    text = " ".join(elements(page).text.split())
    assert "production quality gate: open" in text
    assert f"{report.human_judged_case_count} of {report.case_count} cases judged by a human" in text
    for variant in report.variants:
        for one in variant.measures:
            assert f"{one.mean:.4f}" in text
            assert f"{one.scored} of {one.total}" in text or "/" in text
    for one in report.comparisons:
        assert one.verdict in text
        assert f"{one.mean_difference:+.4f}" in text
    assert page.count('class="plot"') == 2
    differences = pages.get("/evaluation/differences").text
    assert differences.count('class="plot"') == 1
    values = [case for case in report.cases if _ndcg(case, "b4_reranked") is not None]
    assert differences.count("<tr><td") == len(values)


def _ndcg(case: pb.CaseReport, variant: str) -> float | None:
    one = next(m for v in case.variants if v.variant == variant for m in v.measures if m.measure == "nDCG@10")
    return one.value if one.HasField("value") else None


def test_cases_are_listed_page_by_page(pages: Pages, history: HistoryClient) -> None:
    for number in range(53):
        cases.pinned(history, f"run-{number}")
    page = pages.get("/evaluation/cases").text
    more = next(str(found["hx-get"]) for _, found in elements(page).found if found.get("class") == "more")
    rest = pages.get(more, headers={"hx-request": "true"}).text
    assert (page.count("data-row"), rest.count("data-row")) == (50, 3)


def test_a_set_goes_out_in_every_form_and_comes_back(pages: Pages, history: HistoryClient) -> None:
    case_ids = a_judged_set(history)
    fixture = pages.get("/evaluation/export", params={"format": "fixture"})
    assert fixture.headers["content-disposition"] == 'attachment; filename="evaluation-set.json"'
    assert len(fixture.json()["cases"]) == len(case_ids)
    assert "qrels.txt" in files_of(pages.get("/evaluation/export", params={"format": "trec"}).content)
    assert "corpus.jsonl" in files_of(pages.get("/evaluation/export", params={"format": "beir"}).content)
    assert json.loads(pages.get("/evaluation/export", params={"format": "openinference"}).content.splitlines()[0])
    assert pages.get("/evaluation/export", params={"format": "pdf"}).status_code == 400
    with running_history() as (service, other), served_pages(service.data_dir) as others:
        answer = post(others, "/evaluation/import", content=fixture.content)
        assert f"{len(case_ids)} cases imported" in answer.text
        assert timeless(exported(other)) == timeless(fixture.content)
        assert "0 cases imported" in post(others, "/evaluation/import", content=fixture.content).text
        assert post(others, "/evaluation/import", content=fixture.content[:-9]).status_code == 400


def test_clearing_says_what_would_go_and_deletes_that_alone(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    for name in ("run-2", "run-3"):
        cases.record(history, name)
    assert "2 Runs" in elements(pages.get("/evaluation/clearing").text).text
    assert history.runtime().run_count == 3
    assert post(pages, "/evaluation/clear?project=&runs=3").status_code == 409
    assert history.runtime().run_count == 3
    assert "Deleted 2 Runs" in post(pages, "/evaluation/clear?project=&runs=2").text
    assert history.get("run-1").evaluation_case.case_id == case.case_id
    assert "Nothing would go" in elements(pages.get("/evaluation/clearing").text).text


def test_a_case_is_deleted_at_the_version_that_was_seen(pages: Pages, history: HistoryClient) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, cases.a_judgment())
    assert post(pages, f"/cases/{case.case_id}/delete?version=1").status_code == 409
    assert post(pages, f"/cases/{case.case_id}/delete?version=2").headers["hx-redirect"] == "/evaluation"
    assert pages.get(f"/cases/{case.case_id}").status_code == 404


def test_no_write_passes_without_its_token_or_from_elsewhere(pages: Pages, history: HistoryClient) -> None:
    cases.record(history)
    before = history.runtime().change_sequence
    with pages.browser() as browser:
        for path in WRITES:
            assert browser.post(path, headers={"origin": pages.origin}).status_code == 403
            assert browser.post(path, headers={"origin": "http://evil.example"}).status_code == 403
            assert browser.get(path).status_code in {404, 405}
    assert history.runtime().change_sequence == before


def test_a_hostile_case_makes_no_element(pages: Pages, history: HistoryClient) -> None:
    fields = {"path": HOSTILE, "title": HOSTILE, "excerpt": HOSTILE, "heading_path": [HOSTILE]}
    cases.record(history, "run-1", candidates=[a_candidate(1, **fields)], query=HOSTILE)
    case = cases.create(history, category=HOSTILE[:60], notes=HOSTILE)
    cases.replace(history, case.case_id, 1, cases.a_judgment(1, notes=HOSTILE), author=HOSTILE)
    key = f"/cases/{case.case_id}"
    paths = [key, f"{key}?blind=3&seed={'%22%3E%3Cimg%3E'}", f"{key}/versions", f"{key}/corpus", "/evaluation"]
    for path in (*paths, "/evaluation/cases", "/evaluation/report", "/evaluation/differences"):
        page = pages.get(path)
        assert page.status_code == 200
        assert "\u202e" not in page.text
        for tag, attributes in elements(page.text).found:
            assert tag not in {"iframe", "style", "object"}
            assert "onerror" not in attributes
            assert "style" not in attributes
            assert tag != "img" or str(attributes["src"]).startswith("/assets/")
            assert tag != "script" or str(attributes["src"]).startswith("/assets/")

"""The diagnostics pages over HTTP, against a real history."""

import threading
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.trace.v1 import trace_pb2 as trace
from tests.diagnostics_history import candidate, corpus, record_many, record_run, running_history
from tests.diagnostics_pages import Pages, elements, events, links, served_pages
from tests.fakes.history_server import HistoryClient
from tests.history_builders import CREATE_TIME, a_failure
from tests.history_cases import create
from tests.processes import Service

LISTED = 120
LATER = CREATE_TIME + 86_400
RUN_LINK = r"/runs/[a-z]+-[0-9a-z-]+"


@pytest.fixture(scope="module")
def history() -> Iterator[tuple[Service, HistoryClient]]:
    with running_history() as running:
        client = running[1]
        client.put(corpus())
        record_many(client, LISTED)
        rows = [
            candidate(1),
            candidate(2, bm25_rank=None, bm25_score=None, lexical_rank=None),
            candidate(3, reranker_rank=None, reranker_score=None, relevance=None, late_interaction_score=None),
        ]
        rows[2].exclusion_reason = trace.EXCLUSION_REASON_NOT_RERANKED
        at = {"create_time": Timestamp(seconds=LATER)}
        record_run(client, "run-a", *rows, query="how do we deploy", **at)
        record_run(client, "run-b", rows[1], rows[0], query="how do we deploy", **at)
        record_run(client, "run-failed", failure=a_failure(), query="broken", **at)
        create(client, "run-b")
        yield running


@pytest.fixture(scope="module")
def pages(history: tuple[Service, HistoryClient]) -> Iterator[Pages]:
    with served_pages(history[0].data_dir) as running:
        yield running


def test_the_list_is_paged_by_the_tokens_of_the_api_and_every_run_is_on_one_page(pages: Pages) -> None:
    seen: list[str] = []
    address = "/runs"
    sizes = []
    while address:
        part = pages.get(address, headers={"hx-request": "true"} if seen else {}).text
        found = links(part, RUN_LINK)
        sizes.append(len(found))
        seen += found
        more = [
            attributes.get("hx-get") for tag, attributes in elements(part).found if attributes.get("class") == "more"
        ]
        address = str(more[0]) if more else ""
    assert max(sizes) <= 50
    assert len(seen) == len(set(seen)) == LISTED + 3
    assert seen[-1] == "/runs/old-000"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (
            {"project": "project-1", "text": "QUESTION 11"},
            {"old-111", "old-113", "old-115", "old-117", "old-119", "old-011"},
        ),
        ({"state": "failed"}, {"run-failed"}),
        ({"pinned": "pinned"}, {"run-b"}),
        ({"from": "2026-01-02", "to": "2026-01-02", "pinned": "unpinned"}, {"run-a", "run-failed"}),
        ({"to": "2025-12-31"}, set()),
        ({"state": "no such state", "from": "no date", "text": "broken"}, {"run-failed"}),
    ],
)
def test_the_list_is_filtered_by_project_state_text_days_and_pin(
    pages: Pages, query: dict[str, str], wanted: set[str]
) -> None:
    assert {link.rpartition("/")[2] for link in links(pages.get("/runs", params=query).text, RUN_LINK)} == wanted


def test_a_run_shows_every_stage_of_every_candidate_and_a_dash_where_a_stage_did_not_see_it(pages: Pages) -> None:
    page = pages.get("/runs/run-a").text
    rows = page.split("<tr data-row")[1:]
    assert len(rows) == 3
    assert '<td class="num " data-key="bm25" data-order="1"><b>1</b> <span class="score">12.500</span>' in rows[0]
    assert 'data-key="bm25" title="this stage did not see it"><b>–</b>' in rows[1]
    assert 'data-key="rerank" title="this stage did not see it"><b>–</b>' in rows[2]
    assert "Not selected: past the reranker&#39;s depth." in rows[2]
    assert "<mark>deploy</mark>" in rows[0]
    assert "<mark>deployed</mark>" in rows[0]


def test_a_candidate_stands_at_its_place_in_the_resource(pages: Pages) -> None:
    page = pages.get("/runs/run-a/candidates/0").text
    assert "Lines 21 to 21 of 41; bytes 340 to 389 of 709." in page
    here = page.split('<span class="here" id="here">')[1].split("</span>")[0]
    assert elements(here).text == "How we deploy: deployed units deploy themselves.\n"
    assert pages.get("/runs/run-a/candidates/3").status_code == 404


def test_the_drawings_of_a_run_carry_no_style_attribute_and_no_id_twice(pages: Pages) -> None:
    found = elements(pages.get("/runs/run-a/charts").text).found
    assert [attributes["role"] for tag, attributes in found if tag == "svg"] == ["img", "img"]
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not any("style" in attributes for _, attributes in found)
    assert {"candidate-0", "candidate-1", "candidate-2"} <= {attributes.get("data-mark") for _, attributes in found}


@pytest.mark.parametrize(
    ("text", "step", "why"),
    [
        ("DOC-0001", "returned", "It was returned, with 1 unit."),
        ("doc-0003", "not reranked", "Not selected: past the reranker&#39;s depth."),
        ("pump", "not recalled", "Neither leg recalled a unit of it. BM25 ended at rank 3"),
        ("picture", "not indexed", "not indexed: its body is not UTF-8 text."),
        ("nowhere", "", "Not in the memory: no resource of it holds “nowhere”"),
    ],
)
def test_why_not_this_one_says_where_a_resource_was_lost(pages: Pages, text: str, step: str, why: str) -> None:
    page = pages.get("/runs/run-a/absent", params={"text": text}).text
    assert why in page
    assert not step or f">{step}</span>" in page


def test_two_runs_side_by_side_say_where_they_part_and_what_moved(pages: Pages) -> None:
    page = elements(pages.get("/compare", params={"a": "run-a", "b": "run-b"}).text).text
    assert "They part at BM25, rank 2." in page
    assert "All revisions are the same." in page
    assert "no longer recalled" in page
    assert pages.get("/compare", params={"a": "run-a"}).status_code == 400


def test_what_is_not_there_is_404_and_says_so(pages: Pages) -> None:
    for path in ("/runs/nobody", "/nothing", "/assets/x/nothing.js"):
        answer = pages.get(path)
        assert answer.status_code == 404
        assert "This cannot be shown" in answer.text
    assert pages.get("/runs/%00%7f").status_code in {400, 404}


def test_a_run_reaches_a_listening_page_as_a_row_when_its_filter_chooses_it(
    pages: Pages, history: tuple[Service, HistoryClient]
) -> None:
    query = urlencode({"topic": "runs", "text": "Live", "project": "demo"})
    with pages.client(timeout=30) as client, client.stream("GET", f"/events?{query}") as stream:
        found = (content for name, content in events(stream) if name == "run")
        threading.Timer(0.5, lambda: record_run(history[1], "live-other", candidate(1), query="another")).start()
        threading.Timer(1.0, lambda: record_run(history[1], "live-this", candidate(1), query="alive")).start()
        rows = {}
        while "live-this" not in rows:
            content = next(found)
            rows[content["run_id"]] = content["row"]
    assert rows["live-other"] is None
    assert links(rows["live-this"], RUN_LINK) == ["/runs/live-this"]


def test_every_stream_is_bounded_and_one_too_many_is_told_to_come_again(pages: Pages) -> None:
    with pages.client(timeout=30) as client:
        streams = [client.send(client.build_request("GET", "/events?topic=runs"), stream=True) for _ in range(32)]
        lines = [stream.iter_lines() for stream in streams]
        assert all(next(line).startswith("retry") for line in lines)
        assert client.get("/events").status_code == 503
        assert client.get("/runs").status_code == 200
        for stream in streams:
            stream.close()
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with client.stream("GET", "/events") as again:
                if again.status_code == 200:
                    return
            time.sleep(0.2)
    raise AssertionError("closed streams were not let go")


def test_all_browsers_share_one_watch(pages: Pages, history: tuple[Service, HistoryClient]) -> None:
    with pages.client(timeout=30) as client:
        streams = [client.send(client.build_request("GET", "/events?topic=runs"), stream=True) for _ in range(5)]
        lines = [stream.iter_lines() for stream in streams]
        assert all(next(line).startswith("retry") for line in lines)
        assert history[1].runtime().watcher_count == 1
        for stream in streams:
            stream.close()

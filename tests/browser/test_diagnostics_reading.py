"""The pages over a synthetic history: keyboard, table, scrolling, and a corpus that means harm."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from playwright.sync_api import Browser, Page, expect

from tests.browser.visits import Visit, visit
from tests.diagnostics_history import candidate, corpus, record_many, record_run, running_history
from tests.diagnostics_pages import Pages, served_pages
from tests.history_builders import CREATE_TIME

LISTED = 220
LATER = {"create_time": Timestamp(seconds=CREATE_TIME + 86_400)}
HOSTILE = "</script><img src=http://evil.example/x onerror=alert(1)><svg onload=alert(2)>\u202e\"' hx-get=/x"


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    with running_history() as (service, client):
        client.put(corpus())
        record_many(client, LISTED)
        rows = [candidate(rank, bm25_rank=4 - rank, bm25_score=float(rank)) for rank in (1, 2, 3)]
        rows[1].ClearField("bm25_rank")
        record_run(client, "run-a", *rows, query="how do we deploy", **LATER)
        fields = {"path": HOSTILE, "title": HOSTILE, "excerpt": HOSTILE, "kind": "k", "heading_path": [HOSTILE]}
        record_run(client, "run-hostile", candidate(1, **fields), query=HOSTILE, **LATER)
        with served_pages(service.data_dir) as running:
            yield running


@pytest.fixture
def reader(browser: Browser, pages: Pages) -> Iterator[Visit]:
    with visit(browser, pages) as reading:
        yield reading


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def ranks(page: Page) -> list[str]:
    return page.locator("#candidates tbody tr:not([hidden]) [data-key=final] b").all_inner_texts()


def test_j_and_k_move_enter_opens_and_a_slash_searches(reader: Visit) -> None:
    page = reader.open("/runs?project=project-0")
    for key, wanted in (("j", 218), ("j", 216), ("j", 214), ("k", 216)):
        page.keyboard.press(key)
        assert focused(page) == f"old question {wanted}"
    page.keyboard.press("/")
    page.keyboard.type("question 11")
    expect(page).to_have_url(re.compile(r"text=question\+11"))
    expect(page.locator("[data-row]")).to_have_count(5)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/runs/old-118$"))


def test_the_list_loads_older_runs_only_when_they_are_scrolled_to(reader: Visit) -> None:
    page = reader.open("/runs?text=old")
    rows = page.locator("[data-row]")
    expect(rows).to_have_count(50)
    page.locator(".more").scroll_into_view_if_needed()
    expect(rows).to_have_count(100)
    for _ in range(12):
        if page.locator(".more").count() == 0:
            break
        page.locator("[data-row]").last.scroll_into_view_if_needed()
        page.wait_for_timeout(150)
    expect(rows).to_have_count(LISTED)
    assert rows.last.inner_text().count("old question 0") == 1


def test_candidates_are_sorted_filtered_and_their_columns_hidden_for_good(reader: Visit) -> None:
    page = reader.open("/runs/run-a")
    assert ranks(page) == ["1", "2", "3"]
    page.locator("#candidates th[data-key=bm25] button").click()
    assert ranks(page) == ["3", "1", "2"]
    page.locator("#candidates th[data-key=bm25] button").click()
    assert ranks(page) == ["1", "3", "2"]
    page.locator("#outcome").select_option("selected")
    expect(page.locator("[data-count-of=candidates]")).to_have_text("2 of 3")
    page.locator(".menu summary").click()
    page.locator("[data-column=bm25]").uncheck()
    page.locator("[data-column=kind]").check()
    page.reload()
    expect(page.locator("#candidates th[data-key=bm25]")).to_be_hidden()
    expect(page.locator("#candidates th[data-key=kind]")).to_be_visible()


def test_a_row_stands_out_in_the_drawing_of_ranks(reader: Visit) -> None:
    page = reader.open("/runs/run-a")
    expect(page.locator("#charts svg.plot")).to_have_count(2)
    page.locator("#candidates .row-link").nth(2).focus()
    assert page.locator(".plot .is-marked").evaluate_all("all => [...new Set(all.map(g => g.dataset.mark))]") == [
        "candidate-2"
    ]


def test_a_theme_is_chosen_by_a_switch_and_kept(reader: Visit) -> None:
    page = reader.open("/runs")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(2):
        page.get_by_role("button", name=re.compile("Theme")).click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_two_marked_runs_are_compared(reader: Visit) -> None:
    page = reader.open("/runs?project=demo")
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(r"/compare\?a=run-hostile&b=run-a"))


def test_a_hostile_corpus_makes_no_element_request_or_dialog(reader: Visit) -> None:
    for path in ("/", "/runs", "/runs/run-hostile", "/runs/run-hostile/absent", "/compare?a=run-a&b=run-hostile"):
        page = reader.open(path)
        page.wait_for_timeout(300)
        assert page.locator("main [onerror], main [onload], main img, main script").count() == 0
    page = reader.open("/runs/run-hostile")
    expect(page.locator("#charts svg.plot")).to_have_count(2)
    page.locator("#candidates .row-link").click()
    expect(page.locator("#detail h2")).to_contain_text("<img src=http://evil.example/x onerror=alert(1)>")
    assert page.locator("main [onerror], main [onload], main img, main script").count() == 0

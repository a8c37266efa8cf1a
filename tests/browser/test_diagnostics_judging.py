"""Judging and the evaluation set in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import history_cases as cases
from tests.browser.visits import Visit, visit
from tests.diagnostics_history import running_history
from tests.diagnostics_pages import Pages, served_pages
from tests.fakes.history_server import HistoryClient
from tests.history_builders import a_candidate

HOSTILE = "</script><img src=http://evil.example/x onerror=alert(1)><svg onload=alert(2)>\u202e\"' hx-get=/x"


@pytest.fixture(scope="module")
def history() -> Iterator[tuple[HistoryClient, Pages]]:
    with running_history() as (service, client), served_pages(service.data_dir) as pages:
        yield client, pages


@pytest.fixture
def client(history: tuple[HistoryClient, Pages]) -> HistoryClient:
    return history[0]


@pytest.fixture
def reader(browser: Browser, history: tuple[HistoryClient, Pages]) -> Iterator[Visit]:
    with visit(browser, history[1]) as reading:
        yield reading


def pressed(page: Page) -> list[str]:
    return page.locator("[data-unit] [aria-pressed=true]").all_inner_texts()


def relevances(client: HistoryClient, case_id: str) -> dict[str, int]:
    return {one.unit_key or one.resource_id: one.relevance for one in cases.get(client, case_id).judgments}


def test_a_run_is_pinned_judged_by_keys_and_saved(reader: Visit, client: HistoryClient) -> None:
    cases.record(client, "run-keys", query="how do we deploy")
    page = reader.open("/runs/run-keys")
    page.get_by_role("button", name="Pin as a case").click()
    expect(page).to_have_url(re.compile("/cases/"))
    case_id = page.url.rpartition("/")[2]
    for key in ("j", "3", "0", "2", "u", "k", "k"):
        page.keyboard.press(key)
    assert pressed(page) == ["3", "0"]
    page.keyboard.press("n")
    page.keyboard.type("says it 2 times")
    page.keyboard.press("Enter")
    page.keyboard.press("m")
    page.keyboard.type("0005")
    page.locator("#corpus [data-grade='2']").click()
    expect(page.locator("#whole")).to_contain_text("missed")
    expect(page.locator("[data-state]")).to_contain_text("3 judgments not saved")
    page.reload()
    expect(page.locator("[data-state]")).to_contain_text("3 judgments not saved")
    assert pressed(page) == ["3", "0"]
    page.locator("#author").fill("mia")
    page.locator("#author").blur()
    page.keyboard.press("s")
    expect(page.locator("[data-state]")).to_have_text("Saved as version 2.")
    stored = cases.get(client, case_id)
    assert stored.evaluation_case.judgment_author == "mia"
    assert [(one.resource_id, one.relevance, one.missed) for one in stored.judgments] == [
        ("doc-0001", 3, False),
        ("doc-0002", 0, False),
        ("doc-0005", 2, True),
    ]
    assert stored.judgments[0].notes + stored.judgments[1].notes == "says it 2 times"
    page.locator("[data-unit] [data-do=remove]").first.click()
    page.keyboard.press("s")
    expect(page.locator("[data-state]")).to_have_text("Saved as version 3.")
    assert len(relevances(client, case_id)) == 2


def test_a_conflict_with_a_second_client_is_merged_by_choice(reader: Visit, client: HistoryClient) -> None:
    case = cases.pinned(client, "run-conflict")
    page = reader.open(f"/cases/{case.case_id}")
    for key in ("j", "3", "2"):
        page.keyboard.press(key)
    cases.replace(client, case.case_id, 1, cases.a_judgment(1, relevance=1), cases.a_judgment(3, relevance=2))
    page.reload()
    expect(page.locator("[data-state]")).to_contain_text("begun from version 1")
    page.locator(".save-tools [data-do=save]").click()
    conflict = page.locator("[data-conflict]")
    expect(conflict).to_contain_text("version 2, ada")
    expect(conflict.locator("tbody tr")).to_have_count(3)
    assert reader.serious_faults() == []
    conflict.get_by_label("mine: 3 an answer").check()
    conflict.get_by_role("button", name="Save this merge").click()
    expect(page.locator("[data-state]")).to_have_text("Saved as version 3.")
    assert list(relevances(client, case.case_id).values()) == [3, 2, 2]
    # The browser tells of an answer that is no success; that one was wanted.
    reader.wrongs[:] = [wrong for wrong in reader.wrongs if "409" not in wrong]


def test_a_blind_sitting_judges_the_same_case(reader: Visit, client: HistoryClient) -> None:
    case = cases.pinned(client, "run-blind")
    page = reader.open(f"/cases/{case.case_id}")
    page.get_by_role("button", name="of every variant").click()
    expect(page).to_have_url(re.compile(r"blind=10&seed=\d+"))
    expect(page.locator("table").first.locator("thead th")).to_have_text(["relevance", "unit"])
    for key in ("j", "1", "s"):
        page.keyboard.press(key)
    expect(page.locator("[data-state]")).to_have_text("Saved as version 2.")
    assert list(relevances(client, case.case_id).values()) == [1]


def test_a_set_is_exported_imported_and_its_other_runs_cleared(
    reader: Visit, client: HistoryClient, tmp_path: Path
) -> None:
    case = cases.pinned(client, "run-set", project_id="sets")
    cases.replace(client, case.case_id, 1, cases.a_judgment(1))
    cases.record(client, "run-loose", project_id="sets")
    page = reader.open("/evaluation?project=sets")
    expect(page.locator("#report")).to_contain_text("production quality gate: open")
    expect(page.locator("#report")).to_contain_text("1 of 1 case judged by a human")
    expect(page.locator("#report svg.plot, #differences svg.plot")).to_have_count(3)
    with page.expect_download() as download:
        page.get_by_role("link", name="fixture").click()
    file = tmp_path / "set.json"
    download.value.save_as(file)
    cases.delete(client, case.case_id, 2)
    page.locator("#fixture").set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("#import-answer")).to_contain_text("1 case imported")
    expect(page.locator("#cases .row-link")).to_have_count(1)
    page.get_by_role("button", name="What would go?").click()
    expect(page.locator("#clearing")).to_contain_text("1 Run of project sets")
    page.locator("#clearing button").click()
    expect(page.locator("#clearing")).to_contain_text("Deleted 1 Run")
    assert client.get("run-set").evaluation_case.case_id == case.case_id


def test_a_hostile_case_makes_no_element_request_or_dialog(reader: Visit, client: HistoryClient) -> None:
    fields = {"path": HOSTILE, "title": HOSTILE, "excerpt": HOSTILE, "heading_path": [HOSTILE]}
    cases.record(client, "run-hostile", candidates=[a_candidate(1, **fields)], query=HOSTILE, project_id="hostile")
    case = cases.create(client, "run-hostile", notes=HOSTILE)
    whole = pb.EvaluationJudgment(
        resource_id="doc-0004", relevance=2, missed=True, notes=HOSTILE, source=pb.EvaluationJudgment.SOURCE_HUMAN
    )
    cases.replace(client, case.case_id, 1, cases.a_judgment(1, notes=HOSTILE), whole, author=HOSTILE)
    for path in ("", "?blind=3&seed=%3Cimg%3E", "/versions"):
        page = reader.open(f"/cases/{case.case_id}{path}")
        page.wait_for_timeout(200)
        assert page.locator("main [onerror], main [onload], main img").count() == 0
    reader.open("/evaluation?project=hostile")
    expect(page.locator("#cases .row-link")).to_have_count(1)
    assert page.locator("main [onerror], main [onload], main img").count() == 0


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_serious_is_found_for_who_cannot_see_or_point(
    browser: Browser, history: tuple[HistoryClient, Pages], theme: str, width: int
) -> None:
    client, pages = history
    case = cases.pinned(client, f"run-{theme}")
    cases.replace(client, case.case_id, 1, cases.a_judgment(1), cases.a_judgment(5, unit=False, missed=True))
    with visit(browser, pages, theme=theme, width=width) as reader:
        page = reader.open(f"/cases/{case.case_id}")
        page.locator("[data-unit] .row-link").first.click()
        expect(page.locator("#detail .text")).to_be_visible()
        found = {"case": reader.serious_faults()}
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        reader.open(f"/cases/{case.case_id}/versions")
        found["versions"] = reader.serious_faults()
        reader.open("/evaluation")
        expect(page.locator("#report svg.plot, #differences svg.plot")).to_have_count(3)
        expect(page.locator("#cases .row-link").first).to_be_visible()
        found["evaluation"] = reader.serious_faults()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert {name: faults for name, faults in found.items() if faults} == {}

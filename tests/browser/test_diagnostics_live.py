"""Both services, the pages and a browser: what is asked on the command line is seen as it happens."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visits import visit
from tests.diagnostics_pages import Pages, served_pages
from tests.processes import Stack, running_stack

PROJECT = "kitchen"
NOTES = {
    "bread.md": "# Bread\n\nKnead the dough for ten minutes.\n\n## Proving\n\nThe dough proves for two hours.\n",
    "soup.md": "# Soup\n\nSimmer the stock gently.\n\n## Salt\n\nSalt the soup last.\n",
}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with running_stack() as running:
        yield running


@pytest.fixture(scope="module")
def pages(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("notes")
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    command_line(stack.data_dir, "sync", str(folder), "--project", PROJECT)
    with served_pages(stack.data_dir) as running:
        yield running


def command_line(data_dir: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "ranktrail_cli", *arguments, "--data-dir", str(data_dir)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def activate(stack: Stack, query: str) -> None:
    command_line(stack.data_dir, "activate", query, "--project", PROJECT)


def test_a_run_asked_on_the_command_line_appears_and_opens(browser: Browser, stack: Stack, pages: Pages) -> None:
    with visit(browser, pages) as reader:
        page = reader.open("/runs")
        expect(page.locator("#list [data-none]")).to_be_visible()
        activate(stack, "how long does dough prove")
        link = page.get_by_role("link", name="how long does dough prove")
        expect(link).to_be_visible()
        expect(page.locator("#rows .badge.good")).to_have_text("succeeded")
        link.click()
        expect(page.locator("h1")).to_have_text("how long does dough prove")
        expect(page.locator("#charts svg.plot")).to_have_count(2)
        expect(page.locator("#candidates tr.selected").first).to_be_visible()
        page.locator("#candidates .row-link").first.click()
        expect(page.locator("#detail .here")).to_contain_text("dough")
        expect(page.locator("#detail mark").first).to_be_visible()


def test_the_runtime_page_follows_what_happens_without_reloading(browser: Browser, stack: Stack, pages: Pages) -> None:
    with visit(browser, pages) as reader:
        page = reader.open("/")
        page.evaluate("document.body.dataset.stays = 'yes'")
        expect(page.locator("#panel-projects")).to_contain_text(PROJECT)
        before = int(page.locator("#panel-recorder b").first.inner_text())
        activate(stack, "when is soup salted")
        expect(page.locator("#panel-recorder b").first).to_have_text(str(before + 1))
        expect(page.locator("#panel-latency svg.plot")).to_be_visible()
        assert page.evaluate("document.body.dataset.stays") == "yes"


def test_pages_say_that_history_stopped_keep_what_they_show_and_recover(
    browser: Browser, stack: Stack, pages: Pages
) -> None:
    activate(stack, "a question before")
    with visit(browser, pages) as reader:
        page = reader.open("/runs")
        expect(page.get_by_role("link", name="a question before")).to_be_visible()
        stack.history.kill()
        expect(page.locator("#panel-banner")).to_contain_text("The history does not answer")
        expect(page.get_by_role("link", name="a question before")).to_be_visible()
        other = page.context.new_page()
        other.goto(f"{pages.origin}/")
        expect(other.locator("#panel-history")).to_contain_text("not answering")
        expect(other.locator("#panel-history")).to_contain_text("Runs")
        activate(stack, "a question meanwhile")
        stack.history.start()
        expect(page.locator("#panel-banner")).to_be_empty()
        expect(page.get_by_role("link", name="a question meanwhile")).to_be_visible()
        expect(other.locator("#panel-history")).to_contain_text("serving")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_nothing_serious_is_found_for_who_cannot_see_or_point(
    browser: Browser, stack: Stack, pages: Pages, theme: str, width: int
) -> None:
    activate(stack, "how is bread made")
    with visit(browser, pages, theme=theme, width=width) as reader:
        found = {"/": reader.serious_faults()}
        page = reader.open("/runs")
        found["/runs"] = reader.serious_faults()
        page.locator("#rows .row-link").first.click()
        expect(page.locator("#charts svg.plot")).to_have_count(2)
        page.locator("#candidates .row-link").first.click()
        expect(page.locator("#detail .here")).to_be_visible()
        found["run"] = reader.serious_faults()
        page.get_by_role("link", name="Why not this one?").click()
        found["why not"] = reader.serious_faults()
        run = page.url.split("/")[4]
        reader.open(f"/compare?a={run}&b={run}")
        found["two"] = reader.serious_faults()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert {name: faults for name, faults in found.items() if faults} == {}

"""A reader at the pages, who notices whatever a page should not do."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.diagnostics_pages import Pages

WAIT_MS = 20_000


@dataclass
class Visit:
    """A page in the browser, and what went wrong in it."""

    pages: Pages
    page: Page
    wrongs: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a path."""
        self.page.goto(self.pages.origin + path)
        return self.page

    def serious_faults(self) -> list[str]:
        """What axe-core finds serious or critical in the page as it stands."""
        found = Axe().run(self.page).response["violations"]
        return [
            f"{one['id']}: {node['html'][:200]}"
            for one in found
            if one["impact"] in {"serious", "critical"}
            for node in one["nodes"]
        ]


@contextlib.contextmanager
def visit(
    browser: Browser, pages: Pages, *, theme: str = "light", width: int = 1280, height: int = 900
) -> Iterator[Visit]:
    """A reader with a session; at the end nothing may have gone wrong in the browser."""
    scheme = "dark" if theme == "dark" else "light"
    with browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme) as context:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        seen = Visit(pages, page)
        page.on("console", lambda told: seen.wrongs.append(told.text) if told.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: seen.wrongs.append(str(error)))
        page.on("dialog", lambda dialog: (seen.wrongs.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: None if asked.url.startswith(pages.origin) else seen.wrongs.append(asked.url))
        page.goto(f"{pages.origin}/?token={pages.token}")
        page.wait_for_url(f"{pages.origin}/")
        yield seen
        assert seen.wrongs == []

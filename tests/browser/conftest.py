"""A real browser, Debian's Chromium without a window."""

import contextlib
import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def launched(playwright: Playwright) -> Iterator[Browser]:
    """The browser, which must be installed."""
    running = playwright.chromium.launch(executable_path=_path(), args=list(ARGUMENTS))
    yield running
    running.close()


@pytest.fixture(scope="module")  # while it is open, its event loop keeps other tests of the process from running one
def browser() -> Iterator[Browser]:
    if _path() is None:
        pytest.skip("no chromium on PATH: install it, such as with `apt-get install chromium`, or name it in $CHROMIUM")
    with sync_playwright() as playwright, launched(playwright) as running:
        yield running


def _path() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

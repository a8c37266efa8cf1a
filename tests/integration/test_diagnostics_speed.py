"""A large history: pages open at once and no list loads it whole."""

import time
from collections.abc import Iterator

import pytest

from tests.diagnostics_history import candidate, record_many, record_run, running_history
from tests.diagnostics_pages import Pages, elements, served_pages
from tests.history_builders import a_corpus

RUNS = 10_000
RESOURCES = 10_000
CANDIDATES = 120
OPEN_SECONDS = 0.3
PAGE_SIZE = 50
WALKED_PAGES = 20
BODY = b"How the service is deployed.\n" * 60

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    with running_history("--retain-runs", "20000") as (service, client):
        memory = a_corpus(dict.fromkeys((f"doc-{number:05d}" for number in range(RESOURCES)), BODY))
        client.put(memory)
        record_many(client, RUNS, memory)
        rows = [candidate(rank, excerpt="How the service is deployed. " * 41) for rank in range(1, CANDIDATES + 1)]
        record_run(client, "large", *rows, memory=memory)
        with served_pages(service.data_dir) as running:
            yield running


def seconds(pages: Pages, path: str) -> float:
    """The median of five openings, after one that fills what is kept."""
    taken = []
    with pages.client(timeout=30) as client:
        for _ in range(6):
            begin = time.perf_counter()
            assert client.get(path).status_code == 200
            taken.append(time.perf_counter() - begin)
    return sorted(taken[1:])[2]


@pytest.mark.parametrize(
    "path",
    [
        "/runs/large",
        "/runs/large/candidates/119",
        "/runs/large/absent?text=doc-09999",
        "/runs",
        "/runs?text=question+9999",
    ],
)
def test_a_page_over_a_large_history_opens_at_once(pages: Pages, path: str) -> None:
    assert seconds(pages, path) < OPEN_SECONDS


def test_a_list_of_ten_thousand_runs_comes_page_by_page(pages: Pages) -> None:
    address, seen = "/runs", []
    with pages.client(timeout=30) as client:
        for _ in range(WALKED_PAGES):
            found = elements(client.get(address, headers={"hx-request": "true"}).text).found
            shown = [str(attributes["data-run"]) for _, attributes in found if "data-row" in attributes]
            assert len(shown) == PAGE_SIZE
            seen += shown
            address = next(str(attributes["hx-get"]) for _, attributes in found if attributes.get("class") == "more")
    assert seen == [f"old-{RUNS - number}" for number in range(1, len(seen) + 1)]

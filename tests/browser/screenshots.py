"""Writes docs/diagnostics/*.png: every page over the sample handbook, in both themes, wide and narrow.

Run from the project's root: `python -m tests.browser.screenshots [TARGET]`.
"""

import contextlib
import io
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.handbook_queries import Handbook
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.synchronisation import Target, sync_folder
from ranktrail_client import Client
from ranktrail_client.run_delivery import delivered_run
from tests.browser.conftest import launched
from tests.browser.visits import visit
from tests.diagnostics_pages import Pages, served_pages
from tests.processes import Stack, running_stack

TARGET = Path("docs/diagnostics")
PROJECT = "handbook"
QUERIES: Mapping[str, Mapping[str, int]] = {
    "certificate-renewal.md": {"runbooks/certificate-renewal.md#": 2},
    "how do I renew a public certificate": {
        "runbooks/certificate-renewal.md#runbook-certificate-renewal/renew-a-public": 3,
        "runbooks/certificate-renewal.md#": 1,
    },
    "who answers at night": {"faq.md#frequently-asked-questions/what-colleagues-ask/whom": 3, "on-call.md#": 1},
    "how long do we keep an address": {"faq.md#frequently-asked-questions/about": 3, "policies/data-retention.md#": 2},
    "an integration's key has leaked": {"api-keys.md#": 2, "security/": 1},
    "customers say webhooks do not arrive": {"runbooks/webhook-failures.md#": 3, "webhooks.md#": 1},
    "switch something off without a deploy": {"feature-flags.md#": 3},
    "messages pile up faster than they are read": {"runbooks/queue-backlog.md#": 3},
    "who decides how bad an incident is": {"incidents/severity-levels.md#": 3, "incidents/incident-response.md#": 1},
    "the primary database is gone": {"runbooks/database-failover.md#": 3},
    "TW-4291": {"rate-limits.md#rate-limits-and-quotas/tw-4291": 3, "error-codes.md#error-codes/limits": 2},
    "the hard drive is almost out of space": {"capacity.md#capacity/when-the-data-volume-fills": 3},
    "roll back the release, update the status page and write the postmortem": {
        "rollback.md#rolling-back-tidewater/the-command": 3,
        "incidents/postmortems.md#postmortems/1": 2,
        "incidents/incident-response.md#incident-response/closing": 2,
    },
    "when is the on-call handover": {"on-call.md#on-call-rota-for-tidewater/handover": 3, "on-call.md#": 1},
}
"""Queries of the handbook, and how relevant a made-up reader finds the units that begin so; the others are not."""
JUDGED_DEPTH = 12
SIZES = {1280: 900, 390: 844}
THEMES = ("light", "dark")
TALL = 2_100
COLOURS = 48


def main(target: Path) -> None:
    """Take every picture."""
    target.mkdir(parents=True, exist_ok=True)
    with _sample() as (pages, runs, cases), sync_playwright() as playwright, launched(playwright) as browser:
        for theme in THEMES:
            for width in SIZES:
                _take_all(browser, pages, target, (runs, cases), theme, width)


def _take_all(
    browser: Browser, pages: Pages, target: Path, ids: tuple[list[str], list[str]], theme: str, width: int
) -> None:
    runs, cases = ids
    with visit(browser, pages, theme=theme, width=width, height=SIZES[width]) as reader:

        def take(name: str, height: int = 0) -> None:
            _keep(reader.page, target / f"{name}-{theme}-{width}.png", width, height)

        page = reader.open("/")
        expect(page.locator("#panel-latency svg.plot")).to_be_visible()
        take("runtime", TALL)
        reader.open("/runs")
        take("runs")
        reader.open(f"/runs/{runs[-1]}")
        expect(page.locator("#charts svg.plot")).to_have_count(2)
        page.locator("#candidates .row-link").first.click()
        expect(page.locator("#detail .here")).to_be_visible()
        page.evaluate("scrollTo(0, 0)")
        take("run", TALL)
        reader.open(f"/runs/{runs[-1]}/absent?text=on-call")
        take("why-not")
        reader.open(f"/compare?a={runs[0]}&b={runs[1]}")
        take("compare")
        _take_judging(page, pages, cases, take)
        reader.open("/evaluation")
        expect(page.locator("#report svg.plot, #differences svg.plot")).to_have_count(3)
        expect(page.locator("#cases .row-link").first).to_be_visible()
        take("evaluation", TALL)


def _take_judging(page: Page, pages: Pages, cases: list[str], take) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    page.goto(f"{pages.origin}/cases/{cases[-1]}")
    page.locator("#author").fill("ada")
    page.locator("#author").blur()
    page.keyboard.press("j")
    for key in ("3", "1"):
        page.keyboard.press(key)
    page.locator("[data-unit] .row-link").first.click()
    expect(page.locator("#detail .here")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")
    take("case")
    page.locator(".save-tools [data-do=discard]").click()
    page.goto(f"{pages.origin}/cases/{cases[-2]}?blind=10&seed=7")
    take("blind")


def _keep(page: Page, file: Path, width: int, height: int) -> None:
    """Keep what is in sight, or the page from its top to a height, in few colours."""
    page.wait_for_timeout(200)
    page.evaluate("document.activeElement.blur()")
    whole = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, whole)} if height else None
    shot = page.screenshot(full_page=bool(height), clip=clip, animations="disabled")  # type: ignore[arg-type]
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)


@contextlib.contextmanager
def _sample() -> Iterator[tuple[Pages, list[str], list[str]]]:
    """The pages over the handbook, the ids of its Runs, and those of its cases."""
    with running_stack() as stack, Client.connect(stack.data_dir) as client:
        _sync(stack, client)
        found = [_asked(client, query) for query in QUERIES]
        cases = [_judged(client, one) for one in found[:-1]]
        cases.append(_pinned(client, found[-1]))
        with served_pages(stack.data_dir) as pages:
            yield pages, [one.run.run_id for one in found], cases


def _sync(stack: Stack, client: Client) -> None:
    handbook = Handbook.copy_to(stack.data_dir / "handbook")
    for folder, layer in (
        (handbook.organization, trace_pb2.LAYER_ORGANIZATION),
        (handbook.project, trace_pb2.LAYER_PROJECT),
    ):
        with shown_progress() as progress:
            sync_folder(client, folder, Target(PROJECT, layer), progress)


def _asked(client: Client, query: str) -> GetRetrievalRunResponse:
    answer = client.ranker.activate_memory(ranker_pb2.ActivateMemoryRequest(project_id=PROJECT, query=query))
    return delivered_run(client, answer.run_id)


def _pinned(client: Client, found: GetRetrievalRunResponse) -> str:
    request = pb.CreateEvaluationCaseRequest(run_id=found.run.run_id)
    return client.evaluation.create_evaluation_case(request).evaluation_case.case_id


def _judged(client: Client, found: GetRetrievalRunResponse) -> str:
    case_id, relevances = _pinned(client, found), QUERIES[found.run.query]
    judgments = [
        pb.EvaluationJudgment(
            resource_id=one.resource_id,
            unit_key=one.unit_key,
            relevance=relevance,
            source=pb.EvaluationJudgment.SOURCE_HUMAN,
        )
        for place, one in enumerate(found.candidates)
        if (relevance := _relevance(one.unit_key, relevances)) or place < JUDGED_DEPTH
    ]
    client.evaluation.replace_evaluation_judgments(
        pb.ReplaceEvaluationJudgmentsRequest(
            case_id=case_id, expected_judgment_version=1, author="ada", request_id="sample", judgments=judgments
        )
    )
    return case_id


def _relevance(unit_key: str, relevances: Mapping[str, int]) -> int:
    return next((relevance for start, relevance in relevances.items() if unit_key.startswith(start)), 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)

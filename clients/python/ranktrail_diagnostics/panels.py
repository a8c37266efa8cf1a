"""The parts of the Runtime page, and of every page's head, that change while a reader looks on."""

import threading
import time
from collections.abc import Iterator

from jinja2 import Environment
from markupsafe import Markup

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail_client import Client, RanktrailError, pages
from ranktrail_diagnostics.charts.latencies import latency_chart
from ranktrail_diagnostics.latencies import LatencyWindow, Timeline
from ranktrail_diagnostics.services import Services, Snapshot

HEALTH = ("health", "banner")
RUNTIME = ("ranker", "history", "recorder", "projects", "failures", "latency")
RUNTIME_TOPIC = "runtime"
SHOWN_FAILURES = 10
# A drawing of a thousand Runs takes a tenth of a second of one core.
DRAW_SECONDS = 5.0


class Panels:
    """Makes panels, and knows which changed. Safe to use from any thread."""

    def __init__(self, client: Client, services: Services, templates: Environment) -> None:
        self._client = client
        self._services = services
        self._templates = templates
        self._window = LatencyWindow()
        self._lock = threading.RLock()
        self._last: dict[str, str] = {}
        self._failures: list[RetrievalRun] = []
        self._is_filled = False
        self._is_stale = True
        self._drawn_at = float("-inf")
        self._drawing: tuple[Timeline, Markup | None] | None = None

    def take(self, run: RetrievalRun) -> None:
        """Take in a Run that changed."""
        if run.state == RetrievalRun.STATE_FAILED:
            with self._lock:
                others = [known for known in self._failures if known.run_id != run.run_id]
                newest_first = sorted([run, *others], key=lambda known: known.sequence, reverse=True)
                self._failures = newest_first[:SHOWN_FAILURES]
        if self._window.add([run]):
            self._is_stale = True

    def now(self) -> dict[str, Markup]:
        """Ask both services, and return every panel."""
        snapshot = self._services.ask()
        with self._lock:
            made = {name: self._render(name, snapshot) for name in (*HEALTH, *RUNTIME)}
            self._last |= made
        return {name: Markup(text) for name, text in made.items()}  # noqa: S704 - templates made them

    def changed(self, with_runtime: bool) -> Iterator[tuple[str, str]]:
        """Ask both services, and yield name and content of each panel that is not what it was."""
        snapshot = self._services.ask()
        for name in (*HEALTH, *RUNTIME) if with_runtime else HEALTH:
            with self._lock:
                made = self._render(name, snapshot)
                is_new = self._last.get(name) != made
                self._last[name] = made
            if is_new:
                yield name, made

    def known(self) -> dict[str, str]:
        """Return the panels as they were made last."""
        with self._lock:
            return dict(self._last)

    def _render(self, name: str, snapshot: Snapshot) -> str:
        values: dict[str, object] = {"health": snapshot}
        if name in {"failures", "latency"}:
            self._fill(snapshot)
            values["failures"] = self._failures
        if name == "latency":
            values["timeline"], values["chart"] = self._draw()
        return self._templates.get_template(f"panels/{name}.html").render(values)

    def _fill(self, snapshot: Snapshot) -> None:
        """Read what happened before this process watched; history that came back may be another one."""
        if not snapshot.history.is_up:
            self._is_filled = False
            return
        if self._is_filled:
            return
        history = self._client.history
        try:
            failed = pb.ListRetrievalRunsRequest(state=RetrievalRun.STATE_FAILED, page_size=SHOWN_FAILURES)
            self._failures = list(history.list_retrieval_runs(failed).runs)
            request = pb.ListRetrievalRunsRequest(state=RetrievalRun.STATE_SUCCEEDED)
            for number, page in enumerate(pages(history.list_retrieval_runs, request), start=1):
                self._window.add(page.runs)
                if number * 100 >= self._window.size:
                    break
        except RanktrailError:
            return
        self._is_filled = self._is_stale = True

    def _draw(self) -> tuple[Timeline, Markup | None]:
        is_due = self._is_stale and time.monotonic() - self._drawn_at >= DRAW_SECONDS
        if self._drawing is None or is_due:
            self._is_stale = False
            self._drawn_at = time.monotonic()
            timeline = self._window.timeline()
            self._drawing = timeline, latency_chart(timeline)
        return self._drawing

"""The stream of events that a page listens to."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from ranktrail_diagnostics.live import END, Event, Subscription, TooManyStreams
from ranktrail_diagnostics.panels import HEALTH, RUNTIME_TOPIC
from ranktrail_diagnostics.run_filter import RunFilter

BEAT_SECONDS = 15.0
# After so many a stream ends, and the browser opens another.
MAX_EVENTS = 100_000


async def stream(request: Request) -> Response:
    """Send what happens, for as long as the browser listens: panels, and Runs as rows of the list that it shows."""
    if request.app.state.broadcast.is_full:
        return PlainTextResponse("too many pages listen\n", 503, {"retry-after": "10"})
    return StreamingResponse(_events(request), media_type="text/event-stream")


async def _events(request: Request) -> AsyncIterator[str]:
    # Begun only when it is sent, so that a reader who has gone before that holds nothing.
    with (
        suppress(TooManyStreams),
        request.app.state.broadcast.subscribed(request.query_params.get("topic", "")) as subscription,
    ):
        async for text in _texts(request, subscription):
            yield text


async def _texts(request: Request, subscription: Subscription) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    for name, html in request.app.state.panels.known().items():
        if _shows(subscription, name):
            yield _text("panel", {"name": name, "html": html})
    chosen = RunFilter.of(request.query_params)
    for _ in range(MAX_EVENTS):
        event = await subscription.next(BEAT_SECONDS)
        if event is END:
            return
        yield ": still here\n\n" if event is None else _told(request, subscription, event, chosen)


def _told(request: Request, subscription: Subscription, event: Event, chosen: RunFilter) -> str:
    """Return an event as the reader's page takes it; nothing where it does not concern the page."""
    if event.name == "panel":
        return _text("panel", event.content) if _shows(subscription, event.content["name"]) else ""
    if event.name != "run":
        return _text(event.name, event.content)
    if subscription.topic == "runs":
        return _text("run", _run(request, event, chosen))
    return _text("changed", None) if subscription.topic == event.content.run_id else ""


def _shows(subscription: Subscription, panel: str) -> bool:
    """Say whether the reader's page has a panel."""
    return panel in HEALTH or subscription.topic == RUNTIME_TOPIC


def _run(request: Request, event: Event, chosen: RunFilter) -> dict[str, Any]:
    """Return a Run as a row, or without one where the list does not show it (any more)."""
    run = event.content
    row = None
    if chosen.chooses(run):
        template = request.app.state.templates.get_template("runs/rows.html")
        row = template.render(runs=[run], next_token="", chosen=chosen)
    return {"run_id": run.run_id, "row": row}


def _text(name: str, content: Any) -> str:
    """Return one event; JSON has no line feed of its own, so that no data can end it."""
    return f"event: {name}\ndata: {json.dumps(content)}\n\n"

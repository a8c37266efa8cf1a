"""The web application: its rooms, its routes, and what becomes of an error."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ranktrail_client import Client, RanktrailError
from ranktrail_client.errors import Conflict, NotFound, Refused
from ranktrail_diagnostics.assets import asset
from ranktrail_diagnostics.live import Broadcast
from ranktrail_diagnostics.pages import (
    absent,
    cases,
    compare,
    entrance,
    evaluation,
    evaluation_set,
    events,
    judging,
    run,
    runs,
    runtime,
)
from ranktrail_diagnostics.panels import Panels
from ranktrail_diagnostics.rendering import make_environment, render
from ranktrail_diagnostics.security import Guard
from ranktrail_diagnostics.services import Services
from ranktrail_diagnostics.sessions import Sessions
from ranktrail_diagnostics.settings import Settings
from ranktrail_diagnostics.watching import Watching

_STATUS_BY_KIND: tuple[tuple[type[RanktrailError], HTTPStatus], ...] = (
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (Refused, HTTPStatus.BAD_REQUEST),
)


def create_app(client: Client, settings: Settings) -> Starlette:
    """Return the application over a client of both services; `client` is closed with it."""
    sessions = Sessions(settings.token)
    services = Services(client)
    templates = make_environment()
    broadcast = Broadcast()
    panels = Panels(client, services, templates)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        broadcast.start()
        watching = Watching(client, broadcast, panels)
        watching.start()
        yield
        watching.stop()
        client.close()

    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(Guard, settings=settings, sessions=sessions)],
        exception_handlers={RanktrailError: _call_failed, HTTPException: _not_served, Exception: _fault},
        lifespan=lifespan,
    )
    state = app.state
    state.client, state.settings, state.sessions, state.services = client, settings, sessions, services
    state.templates, state.broadcast, state.panels = templates, broadcast, panels
    return app


def _routes() -> list[Route]:
    return [
        _get("/", runtime.show),
        _get("/session", entrance.show),
        Route("/session", entrance.enter, methods=["POST"]),
        _get("/runs", runs.show),
        _get("/runs/{run_id}", run.show),
        _get("/runs/{run_id}/charts", run.show_charts),
        _get("/runs/{run_id}/candidates/{position:int}", run.show_candidate),
        _get("/runs/{run_id}/absent", absent.show),
        _get("/compare", compare.show),
        _get("/evaluation", evaluation.show),
        _get("/evaluation/report", evaluation.show_report),
        _get("/evaluation/cases", evaluation.show_cases),
        _get("/evaluation/differences", evaluation.show_differences),
        _get("/evaluation/export", evaluation_set.export),
        _post("/evaluation/import", evaluation_set.import_set),
        _get("/evaluation/clearing", evaluation_set.show_clearing),
        _post("/evaluation/clear", evaluation_set.clear),
        _post("/runs/{run_id}/case", cases.pin),
        _get("/cases/{case_id}", cases.show),
        _get("/cases/{case_id}/units/{key}", cases.show_unit),
        _get("/cases/{case_id}/corpus", cases.show_corpus),
        _get("/cases/{case_id}/resource", cases.show_resource),
        _get("/cases/{case_id}/versions", cases.show_versions),
        _post("/cases/{case_id}/judgments", judging.save),
        _post("/cases/{case_id}/delete", cases.delete),
        _get("/events", events.stream),
        _get("/assets/{digest}/{name}", asset),
    ]


def _get(path: str, page: Callable[[Request], object]) -> Route:
    return Route(path, page, methods=["GET"])


def _post(path: str, page: Callable[[Request], object]) -> Route:
    return Route(path, page, methods=["POST"])


def _call_failed(request: Request, error: Exception) -> Response:
    status = next(
        (status for kind, status in _STATUS_BY_KIND if isinstance(error, kind)), HTTPStatus.SERVICE_UNAVAILABLE
    )
    return render(
        request, "error.html", status, sentence=str(error), may_recover=status == HTTPStatus.SERVICE_UNAVAILABLE
    )


def _not_served(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = str(error.detail) if isinstance(error, HTTPException) else ""
    return render(request, "error.html", status, sentence=sentence, may_recover=False)


def _fault(request: Request, _error: Exception) -> Response:
    sentence = "This page met a defect of its own; the server's log says more."
    return render(request, "error.html", HTTPStatus.INTERNAL_SERVER_ERROR, sentence=sentence, may_recover=False)

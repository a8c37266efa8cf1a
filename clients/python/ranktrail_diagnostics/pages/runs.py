"""The Retrieval page: recent Runs, newest first."""

from starlette.requests import Request
from starlette.responses import Response

from ranktrail_client import RanktrailError
from ranktrail_diagnostics.rendering import is_part, render
from ranktrail_diagnostics.run_filter import STATES, RunFilter


def show(request: Request) -> Response:
    """Show the first page of Runs, or, to a script, a part: the rows after a page token or the whole list anew."""
    chosen = RunFilter.of(request.query_params)
    token = request.query_params.get("page_token", "")
    try:
        page = request.app.state.client.history.list_retrieval_runs(chosen.request(token))
        runs, next_token, problem = list(page.runs), page.next_page_token, ""
    except RanktrailError as error:
        runs, next_token, problem = [], "", str(error)
    template = ("rows.html" if token else "list.html") if is_part(request) else "runs.html"
    response = render(
        request,
        f"runs/{template}",
        chosen=chosen,
        runs=runs,
        next_token=next_token,
        problem=problem,
        states=STATES,
        projects=_projects(request),
    )
    if template == "list.html":
        response.headers["hx-replace-url"] = f"/runs?{chosen.query}" if chosen.query else "/runs"
    return response


def _projects(request: Request) -> list[str]:
    """Return the projects that the ranker knew when it was last asked."""
    runtime = request.app.state.services.snapshot().ranker.runtime
    return [] if runtime is None else [project.project_id for project in runtime.projects]

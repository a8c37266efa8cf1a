"""The Runtime page: what both services are and do now."""

from starlette.requests import Request
from starlette.responses import Response

from ranktrail_diagnostics.pages import entrance
from ranktrail_diagnostics.rendering import render


def show(request: Request) -> Response:
    """Show every panel; what changes afterwards comes over the page's stream."""
    if "token" in request.query_params:
        return entrance.opened(request, request.query_params["token"])
    return render(request, "runtime.html", panels=request.app.state.panels.now())

"""Two Runs side by side."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ranktrail_diagnostics.comparison import PERSISTENCE, compare
from ranktrail_diagnostics.pages.run import read_run
from ranktrail_diagnostics.rendering import render


def show(request: Request) -> Response:
    """Show what changed from Run `a` to Run `b`."""
    ids = [request.query_params.get(name, "").strip() for name in ("a", "b")]
    if not all(ids):
        raise HTTPException(400, "Two Runs are compared: the address names them as a and b.")
    before, after = (read_run(request, run_id) for run_id in ids)
    return render(
        request,
        "compare.html",
        runs=(before.run, after.run),
        comparison=compare(before, after),
        persistence=PERSISTENCE,
    )

"""Why not this one: any resource of a Run's memory, and where the Run lost it."""

from starlette.requests import Request
from starlette.responses import Response

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_diagnostics.loss import losses
from ranktrail_diagnostics.pages.run import read_run
from ranktrail_diagnostics.rendering import is_part, render

PAGE_SIZE = 25


def show(request: Request) -> Response:
    """Show the resources whose id, path or title holds a text; to a script, the results or a further page alone."""
    run_id, text = request.path_params["run_id"], request.query_params.get("text", "").strip()
    token = request.query_params.get("page_token", "")
    found = read_run(request, run_id)
    wanted = pb.ListRunResourcesRequest(run_id=run_id, page_size=PAGE_SIZE, page_token=token, text=text)
    page = request.app.state.client.history.list_run_resources(wanted)
    template = ("rows.html" if token else "results.html") if is_part(request) else "absent.html"
    return render(
        request,
        f"absent/{template}",
        run=found.run,
        text=text,
        losses=losses(page.resources, found.candidates),
        resource_count=page.resource_count,
        next_token=page.next_page_token,
    )

"""One Run: how its answer came about."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_diagnostics import candidate_table, words
from ranktrail_diagnostics.charts.bump import bump_chart
from ranktrail_diagnostics.charts.waterfall import waterfall
from ranktrail_diagnostics.place import place_of
from ranktrail_diagnostics.query_terms import QueryTerms
from ranktrail_diagnostics.rendering import render
from ranktrail_diagnostics.revisions import revisions_of


def read_run(request: Request, run_id: str) -> pb.GetRetrievalRunResponse:
    """Return a Run with its candidates; raise RanktrailError."""
    client = request.app.state.client
    found: pb.GetRetrievalRunResponse = client.history.get_retrieval_run(pb.GetRetrievalRunRequest(run_id=run_id))
    return found


def show(request: Request) -> Response:
    """Show a Run; its drawings come after it."""
    found = read_run(request, request.path_params["run_id"])
    rows = candidate_table.rows(list(found.candidates), QueryTerms(found.run.query))
    return render(
        request,
        "run/run.html",
        found=found,
        run=found.run,
        rows=rows,
        columns=candidate_table.COLUMNS,
        outcomes=sorted({row.outcome for row in rows}, key=lambda word: (word != "selected", word)),
        revisions=revisions_of(found.run),
        total_us=words.total_us(found.run),
    )


def show_candidate(request: Request) -> Response:
    """Show one candidate of a Run: every stage's word on it, its text, and its place in its resource."""
    run_id, position = request.path_params["run_id"], request.path_params["position"]
    found = read_run(request, run_id)
    if position >= len(found.candidates):
        raise HTTPException(404, "The Run has no such candidate.")
    candidate = found.candidates[position]
    siblings = [other for other in found.candidates if other.resource_id == candidate.resource_id]
    terms = QueryTerms(found.run.query)
    return render(
        request,
        "run/candidate.html",
        run=found.run,
        candidate=candidate,
        row=candidate_table.Row(position, candidate, candidate_table.row_cells(candidate), []),
        sentence=candidate_table.outcome_sentence(candidate),
        place=place_of(request.app.state.client, run_id, candidate, siblings),
        terms=terms,
    )


def show_charts(request: Request) -> Response:
    """Draw a Run: the waterfall of its stages, and how ranks moved."""
    found = read_run(request, request.path_params["run_id"])
    return render(
        request,
        "run/charts.html",
        run=found.run,
        waterfall=waterfall(found.run.stage_latencies, found.run.failure.stage),
        bump=bump_chart(found.candidates),
        total_us=words.total_us(found.run),
    )

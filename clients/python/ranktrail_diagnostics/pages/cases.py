"""Cases: pinned from Runs, read, and judged; what they are judged on never changes."""

import getpass
import secrets

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_client.run_delivery import delivered_run
from ranktrail_diagnostics.blinding import DEFAULT_DEPTH, MAX_DEPTH, Blind, row_key
from ranktrail_diagnostics.judging_page import COLUMNS_SHOWN, RELEVANCES, case_document, embedded, judging_rows
from ranktrail_diagnostics.place import place_of
from ranktrail_diagnostics.query_terms import QueryTerms
from ranktrail_diagnostics.rendering import is_part, render
from ranktrail_diagnostics.resource_text import beginning_of

CORPUS_PAGE = 25
VERSIONS_PAGE = 10
MOST_SEED_CHARACTERS = 64
SEEDS = 1_000_000
INT64_DIGITS = 18


def read_case(request: Request, case_id: str) -> history_pb2.GetRetrievalRunResponse:
    """Return a case with its Run, trace and judgments as one read of them; raise RanktrailError."""
    client = request.app.state.client
    pinned = client.evaluation.get_evaluation_case(pb.GetEvaluationCaseRequest(case_id=case_id)).evaluation_case
    asked = history_pb2.GetRetrievalRunRequest(run_id=pinned.run_id)
    found: history_pb2.GetRetrievalRunResponse = client.history.get_retrieval_run(asked)
    return found


def gone_to(path: str) -> Response:
    """Return the answer to a write after which the browser goes elsewhere."""
    return Response(headers={"hx-redirect": path})


def pin(request: Request) -> Response:
    """Pin a Run as a case, once it has arrived; the same Run again is the same case."""
    client, run_id = request.app.state.client, request.path_params["run_id"]
    delivered_run(client, run_id)
    created = client.evaluation.create_evaluation_case(pb.CreateEvaluationCaseRequest(run_id=run_id))
    return gone_to(f"/cases/{created.evaluation_case.case_id}")


def show(request: Request) -> Response:
    """Show a case to judge, blind when the address asks for it."""
    blind = _blind(request)
    if blind is not None and not blind.seed:
        return RedirectResponse(f"{request.url.path}?blind={blind.depth}&seed={secrets.randbelow(SEEDS)}", 303)
    found = read_case(request, request.path_params["case_id"])
    rows = judging_rows(found, blind)
    return render(
        request,
        "cases/case.html",
        case=found.evaluation_case,
        found=found,
        blind=blind,
        rows=rows,
        columns=COLUMNS_SHOWN if blind is None else (),
        document=case_document(found, rows),
        relevances=RELEVANCES,
        author=_login_name(),
        default_depth=DEFAULT_DEPTH,
        max_depth=MAX_DEPTH,
    )


def show_unit(request: Request) -> Response:
    """Show a unit of a case in its resource, and nothing of how any stage ranked it."""
    found = read_case(request, request.path_params["case_id"])
    candidate = next((one for one in found.candidates if row_key(one) == request.path_params["key"]), None)
    if candidate is None:
        raise HTTPException(404, "The case has no such unit.")
    return render(
        request,
        "cases/unit.html",
        case=found.evaluation_case,
        candidate=candidate,
        place=place_of(request.app.state.client, found.run.run_id, candidate, [candidate]),
        terms=QueryTerms(found.run.query),
    )


def show_corpus(request: Request) -> Response:
    """Show the resources of a case's frozen corpus whose id, path or title holds a text."""
    text, token = request.query_params.get("text", "").strip(), request.query_params.get("page_token", "")
    case_id = request.path_params["case_id"]
    wanted = pb.ListCorpusResourcesRequest(case_id=case_id, page_size=CORPUS_PAGE, page_token=token, text=text)
    page = request.app.state.client.evaluation.list_corpus_resources(wanted)
    return render(
        request,
        "cases/corpus.html",
        case_id=case_id,
        text=text,
        resources=[(one, embedded([one.resource_id, one.path])) for one in page.resources],
        resource_count=page.resource_count,
        is_first=not token,
        next_token=page.next_page_token,
        relevances=RELEVANCES,
    )


def show_resource(request: Request) -> Response:
    """Show the beginning of a resource of a case's frozen corpus."""
    found = read_case(request, request.path_params["case_id"])
    resource_id = request.query_params.get("id", "")
    return render(
        request,
        "cases/resource.html",
        case=found.evaluation_case,
        terms=QueryTerms(found.run.query),
        text=beginning_of(request.app.state.client, found.run.run_id, resource_id),
    )


def show_versions(request: Request) -> Response:
    """Show every version of a case's judgments, newest first; to a script, a further page of them."""
    case_id, token = request.path_params["case_id"], request.query_params.get("page_token", "")
    client = request.app.state.client
    case = client.evaluation.get_evaluation_case(pb.GetEvaluationCaseRequest(case_id=case_id)).evaluation_case
    wanted = pb.ListJudgmentVersionsRequest(case_id=case_id, page_size=VERSIONS_PAGE, page_token=token)
    page = client.evaluation.list_judgment_versions(wanted)
    return render(
        request,
        "cases/version_rows.html" if token and is_part(request) else "cases/versions.html",
        case=case,
        versions=page.versions,
        next_token=page.next_page_token,
    )


def delete(request: Request) -> Response:
    """Delete a case, if it is still at the version that its reader saw."""
    version = request.query_params.get("version", "")
    if not (version.isascii() and version.isdigit() and len(version) <= INT64_DIGITS):
        raise HTTPException(400, "The version that was seen is missing.")
    wanted = pb.DeleteEvaluationCaseRequest(
        case_id=request.path_params["case_id"], expected_judgment_version=int(version)
    )
    request.app.state.client.evaluation.delete_evaluation_case(wanted)
    return gone_to("/evaluation")


def _blind(request: Request) -> Blind | None:
    """Return what the address asks for; None for an open sitting."""
    depth = request.query_params.get("blind", "")
    if not depth:
        return None
    if not (depth.isascii() and depth.isdigit() and 1 <= int(depth[:4]) <= MAX_DEPTH):
        raise HTTPException(400, f"Each variant is pooled to a depth of 1 to {MAX_DEPTH}.")
    return Blind(int(depth), request.query_params.get("seed", "")[:MOST_SEED_CHARACTERS])


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""

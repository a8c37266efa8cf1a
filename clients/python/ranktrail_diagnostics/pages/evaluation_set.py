"""An evaluation set on its way out and in, and the Runs that it does not pin on their way to nowhere."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import chain

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_client.frames import MAX_FRAME_BYTES
from ranktrail_client.message_json import enum_number
from ranktrail_diagnostics.bodies import pieces
from ranktrail_diagnostics.rendering import render

MAX_IMPORT_BYTES = 1 << 32
"""What a page takes; a larger set goes in with `ranktrail import`."""
FILES = {
    "fixture": ("evaluation-set.json", "application/json"),
    "trec": ("evaluation-set.trec.tar", "application/x-tar"),
    "beir": ("evaluation-set.beir.tar", "application/x-tar"),
    "openinference": ("evaluation-set.otlp.jsonl", "application/jsonl"),
}


def export(request: Request) -> Response:
    """Send the set in one of its forms, piece by piece."""
    form_name = request.query_params.get("format", "fixture")
    if form_name not in FILES:
        raise HTTPException(400, f"A set is exported as {', '.join(FILES)}.")
    number = enum_number(pb.ExportEvaluationSetRequest.Format.DESCRIPTOR, form_name)
    wanted = pb.ExportEvaluationSetRequest(
        project_id=request.query_params.get("project", ""),
        format=pb.ExportEvaluationSetRequest.Format.ValueType(number),
    )
    frames = request.app.state.client.evaluation.export_evaluation_set(wanted)
    # What cannot begin is refused on a page; what breaks off later ends the download as broken.
    first = next(frames, None)
    name, media_type = FILES[form_name]
    return StreamingResponse(
        (frame.content for frame in chain([] if first is None else [first], frames)),
        media_type=media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


async def import_set(request: Request) -> Response:
    """Take a fixture as the body, piece by piece: wholly or not at all."""
    loop, body = asyncio.get_running_loop(), pieces(request, MAX_IMPORT_BYTES)

    def frames() -> Iterator[pb.ImportEvaluationSetRequest]:
        while piece := asyncio.run_coroutine_threadsafe(_next(body), loop).result():
            for start in range(0, len(piece), MAX_FRAME_BYTES):
                yield pb.ImportEvaluationSetRequest(content=piece[start : start + MAX_FRAME_BYTES])

    imported = await run_in_threadpool(request.app.state.client.evaluation.import_evaluation_set, frames())
    return render(request, "evaluation/imported.html", imported=imported)


async def _next(body: AsyncIterator[bytes]) -> bytes:
    return await anext(body, b"")


def show_clearing(request: Request) -> Response:
    """Say what clearing would delete, and delete nothing."""
    project = request.query_params.get("project", "")
    return render(
        request,
        "evaluation/clearing.html",
        project=project,
        removal=_clear(request, project, dry_run=True),
        is_new=False,
    )


def clear(request: Request) -> Response:
    """Delete the Runs that no case pins, if they are still as many as the reader confirmed."""
    project = request.query_params.get("project", "")
    removal = _clear(request, project, dry_run=True)
    if request.query_params.get("runs") != str(removal.deleted_run_count):
        return render(request, "evaluation/clearing.html", 409, project=project, removal=removal, is_new=True)
    removal = _clear(request, project, dry_run=False)
    return render(request, "evaluation/cleared.html", project=project, removal=removal)


def _clear(request: Request, project: str, *, dry_run: bool) -> history_pb2.ClearRetrievalRunsResponse:
    wanted = history_pb2.ClearRetrievalRunsRequest(project_id=project, dry_run=dry_run)
    cleared: history_pb2.ClearRetrievalRunsResponse = request.app.state.client.history.clear_retrieval_runs(wanted)
    return cleared

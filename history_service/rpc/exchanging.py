"""Exported sets on their way out, within a time, and on their way in."""

import threading
from collections.abc import Callable, Generator, Iterable, Iterator

from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_EXPORT_SECONDS
from history_service.exchange.canonical import FRAME_BYTES
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb

STALL_SECONDS = 5
"""After the time of an export, for a caller that still reads to be told."""
FORMS: dict[int, str] = {
    pb.ExportEvaluationSetRequest.FORMAT_UNSPECIFIED: "fixture",
    pb.ExportEvaluationSetRequest.FORMAT_FIXTURE: "fixture",
    pb.ExportEvaluationSetRequest.FORMAT_TREC: "trec",
    pb.ExportEvaluationSetRequest.FORMAT_BEIR: "beir",
    pb.ExportEvaluationSetRequest.FORMAT_OPENINFERENCE: "openinference",
}


def form_of(request: pb.ExportEvaluationSetRequest) -> str:
    """Return the form asked for; raise FieldInvalid for one that this release does not know."""
    if request.format not in FORMS:
        raise FieldInvalid("format", "must be fixture, trec, beir or openinference")
    return FORMS[request.format]


def export_responses(
    frames: Generator[bytes], cancel: Callable[[], object]
) -> Iterator[pb.ExportEvaluationSetResponse]:
    """Yield frames as responses.

    A caller that stops reading is cancelled: nothing can be raised to it, and the export has its limit on time.
    """
    stalled = threading.Timer(MAX_EXPORT_SECONDS + STALL_SECONDS, cancel)
    stalled.daemon = True
    stalled.start()
    try:
        for frame in frames:
            yield pb.ExportEvaluationSetResponse(content=frame)
    finally:
        stalled.cancel()
        frames.close()


def contents(requests: Iterable[pb.ImportEvaluationSetRequest]) -> Iterator[bytes]:
    """Yield the bytes of requests; raise FieldInvalid when one has more than a frame holds."""
    for request in requests:
        if len(request.content) > FRAME_BYTES:
            raise FieldInvalid("content", f"has more than {FRAME_BYTES} bytes: send it in frames", FRAME_BYTES)
        yield request.content

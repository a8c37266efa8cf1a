"""Exported sets on their way out, within a time, and on their way in."""

from collections.abc import Callable, Generator, Iterable, Iterator

from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_EXPORT_SECONDS
from history_service.exchange.canonical import FRAME_BYTES
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_serving.patience import within

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
    """Yield frames as responses."""
    for frame in within(frames, MAX_EXPORT_SECONDS, cancel):
        yield pb.ExportEvaluationSetResponse(content=frame)


def contents(requests: Iterable[pb.ImportEvaluationSetRequest]) -> Iterator[bytes]:
    """Yield the bytes of requests; raise FieldInvalid when one has more than a frame holds."""
    for request in requests:
        if len(request.content) > FRAME_BYTES:
            raise FieldInvalid("content", f"has more than {FRAME_BYTES} bytes: send it in frames", FRAME_BYTES)
        yield request.content

"""One upload stream: corpora, one after another."""

from collections.abc import Iterator, Sequence

from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_BLOB_FRAME_BYTES, MAX_DIGESTS_PER_MESSAGE
from history_service.rpc.resources import corpus_start, resources
from history_service.use_cases.put_corpus import CorpusUpload, PutCorpus
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_serving.interceptor import Requests


def uploads(requests: Requests, put: PutCorpus) -> Iterator[pb.PutCorpusResponse]:
    """Store each corpus of the stream and yield what the sender is to know; raise what ends the stream."""
    for frame in requests:
        upload = put.begin(corpus_start(_part(frame, "start").start))
        try:
            yield from _upload(requests, upload)
            stored = pb.CorpusStored(
                effective_memory_hash=frame.start.effective_memory_hash, written_blob_count=upload.written_blob_count
            )
            yield pb.PutCorpusResponse(stored=stored)
        finally:
            upload.close()


def _upload(requests: Requests, upload: CorpusUpload) -> Iterator[pb.PutCorpusResponse]:
    while not upload.manifest_is_whole:
        upload.add_resources(resources(_next_part(requests, "manifest").manifest))
    yield from _missing(upload.missing())
    while not upload.blobs_are_whole:
        parts = _next_part(requests, "blobs").blobs.parts
        if sum(len(part.content) for part in parts) > MAX_BLOB_FRAME_BYTES:
            raise FieldInvalid(
                "blobs.parts", f"have more than {MAX_BLOB_FRAME_BYTES} bytes in a frame", MAX_BLOB_FRAME_BYTES
            )
        for part in parts:
            upload.add_part(part.digest, part.offset, part.content)
    upload.store()


def _next_part(requests: Requests, part: str) -> pb.PutCorpusRequest:
    frame = next(requests, None)
    if frame is None:
        raise FieldInvalid(part, "is missing: the stream ended inside a corpus")
    return _part(frame, part)


def _part(frame: pb.PutCorpusRequest, part: str) -> pb.PutCorpusRequest:
    if frame.WhichOneof("frame") != part:
        raise FieldInvalid("frame", f"is {frame.WhichOneof('frame') or 'missing'} and {part} is due")
    return frame


def _missing(digests: Sequence[str]) -> Iterator[pb.PutCorpusResponse]:
    for start in range(0, max(len(digests), 1), MAX_DIGESTS_PER_MESSAGE):
        end = start + MAX_DIGESTS_PER_MESSAGE
        yield pb.PutCorpusResponse(missing=pb.MissingBlobs(digests=digests[start:end], more=end < len(digests)))

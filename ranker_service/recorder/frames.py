"""A Run as the frames that history is sent, and a corpus as its frames. Each message is serialized once."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from google.protobuf.timestamp_pb2 import Timestamp

from ranker_service.domain.limits import CANDIDATES_PER_FRAME, FRAME_BYTES
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace
from ranker_service.wire.convert import (
    failure_to_proto,
    latency_to_proto,
    resource_to_proto,
    revisions_to_proto,
    run_state_to_proto,
)
from ranktrail.history.v1 import history_service_pb2 as pb

Pieces = list[bytes]
"""Bytes that follow each other in one message."""
RESOURCES_PER_FRAME = 256
_LENGTH_DELIMITED = 2
_CONTINUES = 0x80
_CANDIDATES = pb.RecordRetrievalRunsRequest.CANDIDATES_FIELD_NUMBER
_CANDIDATES_TAG = _CANDIDATES << 3 | _LENGTH_DELIMITED
_MICROSECONDS = 1_000_000


def started_frame(trace: RunTrace) -> bytes:
    """Return the frame that announces a Run."""
    started = pb.RunStarted(
        project_id=trace.project_id,
        query=trace.query,
        purpose=trace.purpose,
        activation_state_fingerprint=trace.activation_state_fingerprint,
        ranker_instance_id=trace.ranker_instance_id,
        create_time=_timestamp(trace.create_time_us),
    )
    return pb.RecordRetrievalRunsRequest(run_id=trace.run_id, started=started).SerializeToString()


def run_frames(trace: RunTrace, candidates: Iterable[tuple[bytes, ...]]) -> list[Pieces]:
    """Return every frame of a terminal Run, `started` first, each in pieces. The last one lacks the candidates' digest.

    `candidates` are the trace's, encoded.

    The reply waits here: hundreds of kilobytes are joined once, where they are written, and digested when they leave.
    """
    frames: list[Pieces] = [[started_frame(trace)]]
    if trace.revisions is not None:
        revisions = revisions_to_proto(trace.revisions)
        frames.append([pb.RecordRetrievalRunsRequest(run_id=trace.run_id, revisions=revisions).SerializeToString()])
    name = _run_id_field(trace.run_id)
    for size, pieces in candidate_frames(candidates):
        frames.append([name, _field_head(_CANDIDATES, size), *pieces])
    frames.append([_finished_frame(trace)])
    return frames


def candidate_frames(candidates: Iterable[tuple[bytes, ...]]) -> Iterator[tuple[int, Pieces]]:
    """Yield CandidateFrames as their size and their pieces, from serialized candidates in pieces.

    A frame has at most 256 candidates and, beyond the first one, at most 1 MiB.
    """
    pieces: Pieces = []
    count = size = 0
    for candidate in candidates:
        length = sum(map(len, candidate))
        head = _field_head(pb.CandidateFrame.CANDIDATES_FIELD_NUMBER, length)
        length += len(head)
        if count and (count == CANDIDATES_PER_FRAME or size + length > FRAME_BYTES):
            yield size, pieces
            pieces, count, size = [], 0, 0
        pieces += (head, *candidate)
        count, size = count + 1, size + length
    if pieces:
        yield size, pieces


def with_digest(run_id: str, frames: Sequence[bytes]) -> list[bytes]:
    """Return a Run's frames as they are sent: the last one with the digest over the CandidateFrames."""
    begin = len(_run_id_field(run_id))
    digest = hashlib.sha256()
    for frame in frames:
        if frame[begin] == _CANDIDATES_TAG:
            digest.update(memoryview(frame)[_varint_end(frame, begin + 1) :])
    last = pb.RecordRetrievalRunsRequest.FromString(frames[-1])
    last.finished.candidates_digest = digest.hexdigest()
    return [*frames[:-1], last.SerializeToString()]


def corpus_frames(memory: EffectiveMemory) -> Iterator[bytes]:
    """Yield serialized PutCorpusRequests: `start`, then the manifest."""
    start = pb.CorpusStart(
        effective_memory_hash=memory.hash, project_id=memory.project_id, resource_count=len(memory.resources)
    )
    yield pb.PutCorpusRequest(start=start).SerializeToString()
    for begin in range(0, len(memory.resources), RESOURCES_PER_FRAME):
        resources = map(resource_to_proto, memory.resources[begin : begin + RESOURCES_PER_FRAME])
        yield pb.PutCorpusRequest(manifest=pb.ManifestFrame(resources=resources)).SerializeToString()


def _finished_frame(trace: RunTrace) -> bytes:
    finished = pb.RunFinished(
        state=run_state_to_proto(trace.state),
        complete_time=None if trace.complete_time_us is None else _timestamp(trace.complete_time_us),
        stage_latencies=map(latency_to_proto, trace.stage_latencies),
        cold=trace.cold,
        failure=None if trace.failure is None else failure_to_proto(trace.failure),
        query_token_count=trace.query_token_count,
        query_tokens_encoded=trace.query_tokens_encoded,
        returned_fragment_count=trace.returned_fragment_count,
        returned_token_count=trace.returned_token_count,
        candidate_count=len(trace.candidates),
    )
    return pb.RecordRetrievalRunsRequest(run_id=trace.run_id, finished=finished).SerializeToString()


def _run_id_field(run_id: str) -> bytes:
    """Return what every frame of a Run begins with."""
    name = run_id.encode()
    return _field_head(pb.RecordRetrievalRunsRequest.RUN_ID_FIELD_NUMBER, len(name)) + name


@lru_cache(maxsize=4_096)
def _field_head(number: int, length: int) -> bytes:
    """Return what stands before the content of a field (protobuf.dev/programming-guides/encoding)."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(length)


def _varint(value: int) -> bytes:
    groups = bytearray()
    while value >= _CONTINUES:
        groups.append(value % _CONTINUES | _CONTINUES)
        value //= _CONTINUES
    groups.append(value)
    return bytes(groups)


def _varint_end(content: bytes, begin: int) -> int:
    while content[begin] >= _CONTINUES:
        begin += 1
    return begin + 1


def _timestamp(microseconds: int) -> Timestamp:
    seconds, rest = divmod(microseconds, _MICROSECONDS)
    return Timestamp(seconds=seconds, nanos=rest * 1_000)

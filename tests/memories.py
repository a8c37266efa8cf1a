"""Commits of small memories over the real contract."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail.trace.v1 import trace_pb2

FRAME_BYTES = 1024 * 1024


def digest(body: bytes) -> str:
    """SHA-256 as the contracts write it."""
    return hashlib.sha256(body).hexdigest()


def resource_frames(name: str, body: bytes, **fields: str) -> Iterator[pb.CommitMemoryRequest]:
    """A resource whose id is its path, then its body."""
    header = pb.ResourceHeader(
        **{"resource_id": name, "path": name, "digest": digest(body), **fields},
        size_bytes=len(body),
    )
    yield pb.CommitMemoryRequest(resource=header)
    for start in range(0, len(body), FRAME_BYTES):
        yield pb.CommitMemoryRequest(body=body[start : start + FRAME_BYTES])


def commit_frames(
    project_id: str,
    pages: Mapping[str, str | bytes],
    deletions: Iterable[str] = (),
    layer: trace_pb2.Layer = trace_pb2.LAYER_PROJECT,
    mode: pb.CommitHeader.Mode = pb.CommitHeader.MODE_PATCH,
    expected_parent: str | None = None,
) -> Iterator[pb.CommitMemoryRequest]:
    """A whole commit: header, resources, deletions, end."""
    yield pb.CommitMemoryRequest(
        header=pb.CommitHeader(project_id=project_id, layer=layer, mode=mode, expected_parent_commit_id=expected_parent)
    )
    for path, body in pages.items():
        yield from resource_frames(path, body.encode() if isinstance(body, str) else body)
    gone = list(deletions)
    for resource_id in gone:
        yield pb.CommitMemoryRequest(delete_resource_id=resource_id)
    yield pb.CommitMemoryRequest(end=pb.CommitEnd(resource_count=len(pages), deletion_count=len(gone)))


def ensure_index(stub: RankerServiceStub, project_id: str) -> pb.EnsureIndexResponse:
    """Wait for the project's index and return the last step."""
    return list(stub.EnsureIndex(pb.EnsureIndexRequest(project_id=project_id), timeout=120))[-1]


def remember(stub: RankerServiceStub, project_id: str, pages: Mapping[str, str | bytes]) -> pb.CommitMemoryResponse:
    """Commit pages to a project's layer and wait for the index."""
    response = stub.CommitMemory(commit_frames(project_id, pages), timeout=60)
    ensure_index(stub, project_id)
    return response

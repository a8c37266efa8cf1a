"""Commits as the frames that travel."""

import hashlib
from collections.abc import Iterable, Iterator

from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2

MAX_FRAME_BYTES = 1 << 20
MAX_RESOURCE_BYTES = 32 << 20


def digest_of(body: bytes) -> str:
    """Return the SHA-256 of `body` as 64 lower-case hex digits."""
    return hashlib.sha256(body).hexdigest()


def commit_frames(
    header: ranker_pb2.CommitHeader,
    resources: Iterable[tuple[ranker_pb2.ResourceHeader, bytes]] = (),
    deleted_resource_ids: Iterable[str] = (),
) -> Iterator[ranker_pb2.CommitMemoryRequest]:
    """Yield a whole commit for `RankerCalls.commit_memory`; sets the size and the digest of each resource's header."""
    yield ranker_pb2.CommitMemoryRequest(header=header)
    end = ranker_pb2.CommitEnd()
    for resource_id in deleted_resource_ids:
        yield ranker_pb2.CommitMemoryRequest(delete_resource_id=resource_id)
        end.deletion_count += 1
    for resource, body in resources:
        yield from _resource_frames(resource, body)
        end.resource_count += 1
    yield ranker_pb2.CommitMemoryRequest(end=end)


def _resource_frames(resource: ranker_pb2.ResourceHeader, body: bytes) -> Iterator[ranker_pb2.CommitMemoryRequest]:
    resource.size_bytes = len(body)
    resource.digest = digest_of(body)
    yield ranker_pb2.CommitMemoryRequest(resource=resource)
    for start in range(0, len(body), MAX_FRAME_BYTES):
        yield ranker_pb2.CommitMemoryRequest(body=body[start : start + MAX_FRAME_BYTES])


def corpus_frames(
    header: ranker_pb2.RankCorpusHeader,
    resources: Iterable[tuple[ranker_pb2.CorpusResource, bytes]],
    queries: Iterable[ranker_pb2.CorpusQuery],
) -> Iterator[ranker_pb2.RankCorpusRequest]:
    """Yield a corpus and its queries for `RankerCalls.rank_corpus`; sets size and digest of each resource's header."""
    yield ranker_pb2.RankCorpusRequest(header=header)
    for resource, body in resources:
        resource.resource.size_bytes = len(body)
        resource.resource.digest = digest_of(body)
        yield ranker_pb2.RankCorpusRequest(resource=resource)
        for start in range(0, len(body), MAX_FRAME_BYTES):
            yield ranker_pb2.RankCorpusRequest(body=body[start : start + MAX_FRAME_BYTES])
    for query in queries:
        yield ranker_pb2.RankCorpusRequest(query=query)

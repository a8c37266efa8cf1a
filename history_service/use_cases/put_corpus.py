"""Stores corpora: a manifest whose hash is checked, and the bodies that are missing, whole on disk before any row."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from history_service.domain.clock import Clock
from history_service.domain.corpus import Manifest, Resource, manifest_hash
from history_service.domain.digest import digest_of
from history_service.domain.errors import BlobDigestMismatch, FieldInvalid
from history_service.store import corpora
from history_service.store.awaited import AwaitedCorpora
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.store.leases import Leases

MAX_BATCH_BLOBS = 256
MAX_BATCH_BYTES = 67_108_864
_EMPTY_DIGEST = digest_of(b"")


@dataclass(frozen=True, slots=True)
class CorpusStart:
    """What an upload announces."""

    effective_memory_hash: str
    project_id: str
    resource_count: int


@dataclass(frozen=True, slots=True)
class PutCorpus:
    """Begins uploads."""

    database: Database
    blobs: BlobStore
    leases: Leases
    awaited: AwaitedCorpora
    now: Clock

    def begin(self, start: CorpusStart) -> "CorpusUpload":
        """Begin an upload; close it when it is over, however it ends."""
        return CorpusUpload(self, start)


class CorpusUpload:
    """One corpus on its way: `add_resources` until the manifest is whole, `missing`, `add_part` for those, `store`.

    From the moment its manifest is whole it holds a lease on every body, so that a collection leaves them alone.
    """

    def __init__(self, owner: PutCorpus, start: CorpusStart) -> None:
        self._owner = owner
        self._start = start
        self._resources: list[Resource] = []
        self._lease = ExitStack()
        self._batch = owner.blobs.batch()
        self._sizes: dict[str, int] = {}
        self._expected: Iterator[str] = iter(())
        self._digest: str | None = None
        self._offset = 0
        self.written_blob_count = 0

    @property
    def manifest_is_whole(self) -> bool:
        """Whether as many resources came as were announced."""
        return len(self._resources) == self._start.resource_count

    @property
    def blobs_are_whole(self) -> bool:
        """Whether every missing body came; only after `missing`."""
        return self._digest is None

    def add_resources(self, resources: Sequence[Resource]) -> None:
        """Take the next resources; raise FieldInvalid when there are too many, or not in resource_id order."""
        if len(self._resources) + len(resources) > self._start.resource_count:
            raise FieldInvalid("manifest.resources", f"are more than the {self._start.resource_count} announced")
        for resource in resources:
            if self._resources and self._resources[-1].resource_id >= resource.resource_id:
                raise FieldInvalid("manifest.resources.resource_id", "is not in ascending order, each once")
            self._resources.append(resource)

    def missing(self) -> list[str]:
        """Return the digests to send, ascending; raise FieldInvalid when the manifest has another hash."""
        if manifest_hash(self._start.project_id, self._resources) != self._start.effective_memory_hash:
            raise FieldInvalid("start.effective_memory_hash", "is not the hash of the manifest that came")
        self._sizes = _sizes(self._resources)
        self._lease.enter_context(self._owner.leases.hold(self._sizes))
        lacking = sorted(d for d, size in self._sizes.items() if not self._owner.blobs.holds(d, size))
        if _EMPTY_DIGEST in lacking:  # has no bytes to wait for
            self._write_empty()
            lacking.remove(_EMPTY_DIGEST)
        self._expected = iter(lacking)
        self._next_body()
        return lacking

    def add_part(self, digest: str, offset: int, content: bytes) -> None:
        """Take the next bytes; raise FieldInvalid out of turn, BlobDigestMismatch when a body ends as another one."""
        if digest != self._digest:
            raise FieldInvalid("blobs.parts.digest", "is not the next body asked for")
        if offset != self._offset:
            raise FieldInvalid("blobs.parts.offset", f"is {offset} and {self._offset} bytes of the body came")
        size = self._sizes[digest]
        if offset + len(content) > size:
            raise BlobDigestMismatch(digest, f"more than its {size} bytes came")
        if offset == 0:
            self._batch.begin(digest)
        self._batch.write(content)
        self._offset += len(content)
        if self._offset == size:
            self._end_body()

    def store(self) -> None:
        """Make the bodies durable and then the rows; return once both are on disk."""
        self._batch.publish()
        manifest = Manifest(self._start.effective_memory_hash, self._start.project_id, tuple(self._resources))
        now_us = self._owner.now()
        self._owner.awaited.expect(manifest.effective_memory_hash)
        self._owner.database.write(lambda db: corpora.insert_manifest(db, manifest, now_us)).result()

    def close(self) -> None:
        """Remove what is unfinished and let go of the lease; whole bodies stay for the next attempt."""
        self._batch.discard()
        self._lease.close()

    def _end_body(self) -> None:
        self._batch.end()
        self.written_blob_count += 1
        self._next_body()
        if len(self._batch) >= MAX_BATCH_BLOBS or self._batch.written_bytes >= MAX_BATCH_BYTES:
            self._batch.publish()

    def _next_body(self) -> None:
        self._digest = next(self._expected, None)
        self._offset = 0

    def _write_empty(self) -> None:
        self._batch.begin(_EMPTY_DIGEST)
        self._batch.end()
        self.written_blob_count += 1


def _sizes(resources: Iterable[Resource]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for resource in resources:
        if sizes.setdefault(resource.digest, resource.size_bytes) != resource.size_bytes:
            raise FieldInvalid(
                "manifest.resources.size_bytes", f"differs between resources of digest {resource.digest}"
            )
    if sizes.get(_EMPTY_DIGEST, 0) != 0:
        raise FieldInvalid("manifest.resources.size_bytes", "is not 0 for the digest of no bytes")
    return sizes

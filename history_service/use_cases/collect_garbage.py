"""Collects what nothing refers to any more: manifests of no Run, then bodies of no manifest and no frozen corpus.

Each step is committed before the next begins, rows before files: whatever instant the process is killed at, a row's
body is on disk, and at worst a file stays for the next full collection. Uploads go on meanwhile. An upload holds its
bodies before it looks for them and until their rows are committed, and a file is removed only while nobody holds it
and no row names it.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from history_service.store import unreferenced
from history_service.store.awaited import AwaitedCorpora
from history_service.store.blobs import BlobStore
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.store.leases import Leases

BLOBS_PER_STEP = 256
"""Rows deleted in one transaction, so that recording never waits for long."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Bodies that went."""

    blob_count: int
    blob_bytes: int


class CollectGarbage:
    """Collects, one caller at a time."""

    def __init__(self, database: Database, blobs: BlobStore, leases: Leases, awaited: AwaitedCorpora) -> None:
        self._database = database
        self._blobs = blobs
        self._leases = leases
        self._awaited = awaited
        self._lock = threading.RLock()
        self._doomed: set[str] = set()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other callers waiting."""
        with self._lock:
            yield

    def manifests(self, hashes: Iterable[str]) -> Collected:
        """Collect those of the manifests that are unused and not awaited, and what only they held."""
        with self._lock:
            digests: set[str] = set()
            for effective_memory_hash in self._unused(hashes):
                digests |= self._delete_manifest(effective_memory_hash)
            return self._bodies(sorted(digests))

    def everything(self) -> Collected:
        """Collect whatever nothing refers to, files without a row included, which uploads that broke off left."""
        with self._lock:
            with self._database.reading() as db:
                hashes = unreferenced.manifest_hashes(db)
            first = self.manifests(hashes)
            with self._database.reading() as db:
                digests = unreferenced.unreferenced_blobs(db)
            self._doom_files_without_row()
            rest = self._bodies(digests)
            return Collected(first.blob_count + rest.blob_count, first.blob_bytes + rest.blob_bytes)

    def _unused(self, hashes: Iterable[str]) -> list[str]:
        wanted = set(hashes) - self._awaited.hashes()
        with self._database.reading() as db:
            return [hash_ for hash_ in sorted(wanted) if not unreferenced.is_used(db, hash_)]

    def _delete_manifest(self, effective_memory_hash: str) -> set[str]:
        def delete(db: Connection) -> list[str]:
            # Looked at again: it may have been put since, or a Run may have come.
            if effective_memory_hash in self._awaited.hashes():
                return []
            return unreferenced.delete_manifest(db, effective_memory_hash)

        return set(self._database.write(delete).result())

    def _bodies(self, digests: Sequence[str]) -> Collected:
        sizes: list[int] = []
        for start in range(0, len(digests), BLOBS_PER_STEP):
            gone = self._delete_rows(digests[start : start + BLOBS_PER_STEP])
            self._doomed.update(digest for digest, _ in gone)
            sizes += [size for _, size in gone]
        for digest in sorted(self._doomed):
            self._remove_file(digest)
        return Collected(len(sizes), sum(sizes))

    def _delete_rows(self, digests: Sequence[str]) -> list[tuple[str, int]]:
        return self._database.write(lambda db: unreferenced.delete_blobs(db, digests)).result()

    def _remove_file(self, digest: str) -> None:
        """Remove a body without a row; one that is held is tried again at the next collection."""
        if self._leases.unless_held(digest, lambda: self._remove_unless_stored(digest)):
            self._doomed.discard(digest)

    def _remove_unless_stored(self, digest: str) -> None:
        # Whoever held the body and let go of it has committed its row, so this look sees it.
        with self._database.reading() as db:
            stored = unreferenced.stored_among(db, [digest])
        if not stored:
            with self._blobs.writing():
                self._blobs.remove(digest)

    def _doom_files_without_row(self) -> None:
        for digests in self._blobs.listed():
            with self._database.reading() as db:
                self._doomed |= digests - unreferenced.stored_among(db, digests)

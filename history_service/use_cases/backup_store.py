"""Copies the store as it is at one instant, while recording goes on.

The database is copied first, by SQLite's own online backup; every body that the copy has a row of is then held, so that
no collection removes it, and sent. Bodies never change and their rows come after them, so all of them are there.

The copy is sent to the caller and is not written to a path of the caller's choice: whoever may call this service, on
whatever address, must not thereby write to the disk with its rights.
"""

import hashlib
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from history_service.domain.clock import Clock
from history_service.domain.errors import BlobCorrupt
from history_service.domain.limits import MAX_BACKUP_SECONDS
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.store.snapshot import Snapshot, snapshot_of
from history_service.use_cases.collect_garbage import CollectGarbage
from ranktrail_serving.errors import Overloaded
from ranktrail_serving.file_faults import Fault, body_fault
from ranktrail_serving.storage import PIECE_BYTES, BackupEnd, BackupFile, BackupPart, BackupStart, Problem


@dataclass(frozen=True, slots=True)
class BackupStore:
    """Copies. `directory` is history's own, with the database and the bodies below it."""

    directory: Path
    database: Database
    blobs: BlobStore
    leases: Leases
    collect: CollectGarbage
    monotonic: Clock

    def backup(self) -> Generator[BackupPart]:
        """Yield the copy in pieces of at most 1 MiB; a body that is missing or damaged is a problem, and left out.

        Raise Overloaded when MAX_BACKUP_SECONDS have passed: bodies are held that long at most.
        """
        until = self.monotonic() + MAX_BACKUP_SECONDS * 1_000_000
        with ExitStack() as held:
            with self.collect.alone():
                snapshot = held.enter_context(snapshot_of(self.database, self.directory))
                held.enter_context(self.leases.hold(digest for digest, _ in snapshot.bodies))
            for part in self._parts(snapshot):
                if self.monotonic() > until:
                    raise Overloaded("seconds of one backup", MAX_BACKUP_SECONDS)
                yield part

    def _parts(self, snapshot: Snapshot) -> Iterator[BackupPart]:
        database_path = self._named(self.database.path)
        size_bytes = snapshot.file.seek(0, 2)
        yield BackupStart(1 + len(snapshot.bodies), size_bytes + sum(size for _, size in snapshot.bodies))
        for complaint in snapshot.complaints:
            yield Problem("database_damaged", database_path, complaint)
        yield BackupFile(database_path, size_bytes, _digest_of(snapshot.file))
        yield from _pieces(snapshot.file)
        count, total = 1, size_bytes
        for digest, size in snapshot.bodies:
            address = self.blobs.address(digest)
            path = self._named(address)
            try:
                content = self.blobs.read(digest)
            except BlobCorrupt as error:
                fault = body_fault(address, digest, size) or Fault("body_digest", str(error))
                yield Problem(fault.kind, path, f"{fault.detail}: it is not in the backup")
                continue
            yield BackupFile(path, len(content), digest)
            yield from (content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES))
            count, total = count + 1, total + len(content)
        yield BackupEnd(count, total)

    def _named(self, path: Path) -> str:
        return path.relative_to(self.directory.parent).as_posix()


def _digest_of(file: BufferedReader) -> str:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return digest


def _pieces(file: BufferedReader) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece

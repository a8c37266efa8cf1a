"""Checks the files beside the database: modes, bodies without a row, and what killed processes left."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from history_service.domain.clock import Clock
from history_service.domain.digest import is_digest
from history_service.store import corpora, inspected, unreferenced
from history_service.store.blobs import DRAFT_PREFIX, BlobStore
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.store.snapshot import leftover_snapshots, remove_leftover
from history_service.use_cases.collect_garbage import CollectGarbage
from ranktrail_serving.file_faults import DIRECTORY_MODE, FILE_MODE, body_fault, mode_problem, name_below
from ranktrail_serving.storage import Event, Problem, Progress

PHASE = "files"
_PREFIX_CHARACTERS = 2


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """Looks at every name below the store's directory that is the store's own."""

    directory: Path
    database: Database
    blobs: BlobStore
    leases: Leases
    collect: CollectGarbage
    now: Clock

    def check(self, repair: bool) -> Iterator[Event]:
        """Yield what is wrong, and progress by directories; with `repair`, put right what can be."""
        yield from self._modes(repair)
        yield from self._snapshots(repair)
        directories = sorted(self.blobs.root.iterdir())
        for done, directory in enumerate(directories):
            yield Progress(PHASE, done, len(directories))
            yield from self._directory(directory, repair)
        yield Progress(PHASE, len(directories), len(directories))

    def subject(self, path: Path) -> str:
        """Return a path as it is named to people: below the data directory."""
        return name_below(path, self.directory.parent)

    def mode(self, path: Path, wanted: int, repair: bool) -> Iterator[Problem]:
        """Check the mode of a file or directory."""
        return mode_problem(path, wanted, self.subject(path), repair=repair)

    def adopt(self, digest: str, size_bytes: int) -> bool:
        """Insert the row of a body whose file is whole; return whether it is. Collections then judge it by its row."""
        with self.leases.hold([digest]):
            self.blobs.distrust(digest)
            if not self.blobs.holds(digest, size_bytes):
                return False
            now_us = self.now()
            self.database.write(lambda db: corpora.insert_blobs(db, [(digest, size_bytes)], now_us)).result()
            return True

    def _modes(self, repair: bool) -> Iterator[Problem]:
        for path in (self.directory, self.blobs.root.parent, self.blobs.root):
            yield from self.mode(path, DIRECTORY_MODE, repair)
        database = self.database.path
        for path in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
            yield from self.mode(path, FILE_MODE, repair)

    def _snapshots(self, repair: bool) -> Iterator[Problem]:
        # A snapshot is taken by who is alone, so what is seen here is nobody's.
        with self.collect.alone():
            problems = [self._leftover(path, repair) for path in leftover_snapshots(self.directory)]
        yield from problems

    def _directory(self, directory: Path, repair: bool) -> Iterator[Problem]:
        if not directory.is_dir() or directory.is_symlink() or len(directory.name) != _PREFIX_CHARACTERS:
            yield self._unexpected(directory)
            return
        yield from self.mode(directory, DIRECTORY_MODE, repair)
        if not os.access(directory, os.R_OK | os.X_OK):
            yield Problem("body_unreadable", self.subject(directory), "this directory cannot be read")
            return
        # A collection deletes rows before files, and what lies between is no orphan.
        with self.collect.alone():
            paths = sorted(directory.iterdir())
            bodies = {path.name for path in paths if is_digest(path.name) and path.name.startswith(directory.name)}
            with self.database.reading() as db:
                orphans = bodies - unreferenced.stored_among(db, bodies)
        for path in paths:
            if path.name in orphans:
                yield from self._orphan(path, repair)
            elif self.blobs.is_leftover(path):
                yield self._leftover(path, repair)
            elif path.name not in bodies and not path.name.startswith(DRAFT_PREFIX):
                yield self._unexpected(path)

    def _orphan(self, path: Path, repair: bool) -> Iterator[Problem]:
        found: list[Problem] = []
        # Whoever holds it is about to insert its row, or keeps it for a reader.
        self.leases.unless_held(path.name, lambda: found.extend(self._unlisted(path)))
        for problem in found:
            repaired = repair and problem.repairable and self.adopt(path.name, path.lstat().st_size)
            yield replace(problem, repaired=repaired)

    def _unlisted(self, path: Path) -> Iterator[Problem]:
        with self.database.reading() as db:
            if inspected.size_of_blob(db, path.name) is not None:
                return
        try:
            fault = body_fault(path, path.name, path.lstat().st_size)
        except FileNotFoundError:
            return
        if fault is None:
            detail = (
                "no row names this body: a repair gives it one, and a collection removes it if nothing refers to it"
            )
            yield Problem("orphan_file", self.subject(path), detail, repairable=True)
        elif fault.kind != "body_missing":
            yield Problem("orphan_damaged", self.subject(path), f"no row names this body, and {fault.detail}")

    def _leftover(self, path: Path, repair: bool) -> Problem:
        if repair:
            remove_leftover(path)
        detail = "a process that ended left it unfinished: a repair removes it"
        return Problem("temporary_file", self.subject(path), detail, repairable=True, repaired=repair)

    def _unexpected(self, path: Path) -> Problem:
        return Problem("unexpected_file", self.subject(path), "it is nothing that the store made: move it away")

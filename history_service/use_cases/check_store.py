"""Checks everything that is stored, while recording goes on, and puts right what can be."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from history_service.domain.clock import Clock
from history_service.store import inspected
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.use_cases.check_bodies import CheckBodies
from history_service.use_cases.check_cases import CheckCases
from history_service.use_cases.check_files import CheckFiles
from history_service.use_cases.check_manifests import CheckManifests
from history_service.use_cases.check_runs import CandidatesDigest, CheckRuns
from history_service.use_cases.collect_garbage import CollectGarbage
from ranktrail_serving.storage import Event, Problem, Progress

PHASE = "database"


@dataclass(frozen=True, slots=True)
class CheckStore:
    """Checks. `directory` is history's own, with the database and the bodies below it."""

    directory: Path
    database: Database
    blobs: BlobStore
    leases: Leases
    collect: CollectGarbage
    now: Clock
    candidates_digest: CandidatesDigest

    def check(self, repair: bool, is_stopped: Callable[[], bool]) -> Iterator[Event]:
        """Yield what is wrong, and progress; long statements give up once `is_stopped`.

        A part of the database that cannot be read is a problem of its own, and the check goes on behind it.
        """
        files = CheckFiles(self.directory, self.database, self.blobs, self.leases, self.collect, self.now)
        phases: list[Iterable[Event]] = [
            self._database(is_stopped),
            files.check(repair),
            CheckBodies(files).check(repair),
            CheckManifests(self.database).check(),
            CheckRuns(self.database, self.candidates_digest).check(),
            CheckCases(self.database).check(),
        ]
        for phase in phases:
            yield from self._readable(phase)

    def _database(self, is_stopped: Callable[[], bool]) -> Iterator[Event]:
        yield Progress(PHASE, 0, 2)
        with self.database.reading() as db, inspected.interruptible(db, is_stopped):
            lines = inspected.integrity_lines(db)
        yield from (self._damaged(line) for line in lines)
        yield Progress(PHASE, 1, 2)
        with self.database.reading() as db, inspected.interruptible(db, is_stopped):
            broken, (given, largest) = inspected.broken_references(db), inspected.change_sequences(db)
        for one in broken:
            detail = f"{one.row_count} of its rows name rows of {one.parent} that are not there"
            yield Problem("reference_broken", f"table {one.table}", detail)
        if largest > given:
            yield Problem("count", "table daemon_meta", f"a Run has change sequence {largest}, and {given} is the last")
        yield Progress(PHASE, 2, 2)

    def _readable(self, phase: Iterable[Event]) -> Iterator[Event]:
        try:
            yield from phase
        except inspected.DAMAGE as error:
            yield self._damaged(str(error))

    def _damaged(self, detail: str) -> Problem:
        subject = f"{self.directory.name}/{self.database.path.name}"
        return Problem("database_damaged", subject, f"{detail}: restore a backup")

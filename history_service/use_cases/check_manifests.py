"""Checks what Runs and cases say of memories: every manifest against its hash, and the numbers beside it."""

from collections.abc import Iterator
from dataclasses import dataclass

from history_service.domain.corpus import manifest_hash
from history_service.store import exported, inspected, unreferenced
from history_service.store.connection import Connection
from history_service.store.database import Database
from ranktrail_serving.storage import Event, Problem, Progress

PHASE = "manifests"


@dataclass(frozen=True, slots=True)
class CheckManifests:
    """Computes every hash anew, each manifest in one state of the database."""

    database: Database

    def check(self) -> Iterator[Event]:
        """Yield what is wrong, and progress by manifests."""
        with self.database.reading() as db:
            hashes, corpora = unreferenced.manifest_hashes(db), inspected.corpus_rows(db)
        total = len(hashes) + len(corpora)
        for done, hash_ in enumerate(hashes):
            yield Progress(PHASE, done, total)
            with self.database.reading() as db:
                problems = list(_of_runs(db, hash_))
            yield from problems
        for done, (hash_, *_) in enumerate(corpora, start=len(hashes)):
            yield Progress(PHASE, done, total)
            with self.database.reading() as db:
                problems = list(_of_cases(db, hash_))
            yield from problems
        yield Progress(PHASE, total, total)


def _of_runs(db: Connection, hash_: str) -> Iterator[Problem]:
    # A corpus that waits for its first Run has no project yet, and one that was collected meanwhile has none either.
    projects = inspected.projects_of_memory(db, hash_)
    resources = list(inspected.resources_of_memory(db, hash_)) if projects else []
    for project in projects:
        if manifest_hash(project, resources) != hash_:
            detail = f"its {len(resources)} resources have another hash for project {project!r}"
            yield Problem("manifest_digest", f"manifest {hash_}", detail)


def _of_cases(db: Connection, hash_: str) -> Iterator[Problem]:
    for found, project, declared in inspected.corpus_rows(db):
        if found != hash_:
            continue
        resources = list(exported.resources_of(db, hash_))
        if len(resources) != declared:
            yield Problem("count", f"corpus {hash_}", f"it says {declared} resources and has {len(resources)}")
        elif manifest_hash(project, resources) != hash_:
            yield Problem("manifest_digest", f"corpus {hash_}", "its resources have another hash")

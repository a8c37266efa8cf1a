"""Answers what Runs were."""

from dataclasses import dataclass

from history_service.domain.case import EvaluationCase, Judgment
from history_service.domain.corpus import Resource
from history_service.domain.errors import BlobCorrupt, ResourceNotFound, RunNotFound
from history_service.domain.run import Candidate, Run, RunFilter
from history_service.evaluation.results import BenchmarkReport
from history_service.store import cases, corpora, judgments, read_runs
from history_service.store.blobs import BlobStore
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.benchmark import case_report


@dataclass(frozen=True, slots=True)
class WholeRun:
    """A Run with its candidates, the manifest rows of their resources, and the case that pins it with its measures."""

    run: Run
    candidates: list[Candidate]
    resources: list[Resource]
    case: EvaluationCase | None
    judgments: list[Judgment]
    report: BenchmarkReport | None


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some resources of a Run's Effective Memory, and how many there are in all."""

    resources: list[Resource]
    resource_count: int


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """Reads; every answer comes from one state of the database."""

    database: Database
    blobs: BlobStore

    def page(self, which: RunFilter, after: read_runs.Position | None, limit: int) -> list[Run]:
        """Return at most `limit` Runs, newest first, that follow the position `after`."""
        with self.database.reading() as db:
            return read_runs.page_of_runs(db, which, after, limit)

    def whole(self, run_id: str) -> WholeRun:
        """Return one Run with everything; raise RunNotFound."""
        with self.database.reading() as db:
            run = _known(db, run_id)
            candidates = read_runs.candidates_of(db, run.sequence)
            memory = run.revisions.effective_memory_hash
            ids = sorted({candidate.resource_id for candidate in candidates})
            resources = [] if memory is None else corpora.resources_by_id(db, memory, ids)
            pinning = run.evaluation_case_id
            stored = None if pinning is None else cases.case_by_id(db, pinning)
            if stored is None:
                return WholeRun(run, candidates, resources, None, [], None)
            present = judgments.judgments_of(db, stored.sequence, stored.case.judgment_version)
            report = case_report(db, stored)
        return WholeRun(run, candidates, resources, stored.case, present, report)

    def resources(self, run_id: str, text: str, after: str | None, limit: int) -> ResourcePage:
        """Return at most `limit` resources of a Run's Effective Memory, in resource_id order; raise RunNotFound.

        Where there is a text, only those whose id, path or title holds it, without regard to case.
        """
        with self.database.reading() as db:
            memory = _known(db, run_id).revisions.effective_memory_hash
            if memory is None:
                return ResourcePage([], 0)
            if not text:
                page = corpora.page_of_resources(db, memory, after, limit)
                return ResourcePage(page, corpora.count_resources(db, memory))
            found = corpora.ids_with_text(db, memory, text)
            wanted = [resource_id for resource_id in found if after is None or resource_id > after][:limit]
            return ResourcePage(corpora.resources_by_id(db, memory, wanted), len(found))

    def body(self, run_id: str, resource_id: str) -> tuple[Resource, bytes]:
        """Return a resource of a Run's memory and its body; raise RunNotFound, ResourceNotFound, BlobCorrupt."""
        with self.database.reading() as db:
            memory = _known(db, run_id).revisions.effective_memory_hash
            found = [] if memory is None else corpora.resources_by_id(db, memory, [resource_id])
        if not found:
            raise ResourceNotFound(resource_id)
        try:
            return found[0], self.blobs.read(found[0].digest)
        except BlobCorrupt:
            # A Run that went meanwhile took its bodies with it.
            with self.database.reading() as db:
                _known(db, run_id)
            raise


def _known(db: Connection, run_id: str) -> Run:
    run = read_runs.run_by_id(db, run_id)
    if run is None:
        raise RunNotFound(run_id)
    return run

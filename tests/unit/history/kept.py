"""A history store without its edge, for tests of what is kept and what goes."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from history_service.domain.case import Judgment
from history_service.domain.case_id import case_id
from history_service.domain.corpus import Manifest, Resource, manifest_hash
from history_service.domain.digest import digest_of
from history_service.domain.run import Candidate, Failure, Revisions, RunEnd, RunStart, RunState, RunTrace
from history_service.rpc.candidates import candidate_rows, candidates_digest
from history_service.store.awaited import AwaitedCorpora
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.use_cases.benchmark import Benchmark
from history_service.use_cases.changes import Changes
from history_service.use_cases.clear_history import ClearHistory
from history_service.use_cases.collect_garbage import CollectGarbage
from history_service.use_cases.create_case import CreateCase
from history_service.use_cases.delete_case import DeleteCase
from history_service.use_cases.export_set import ExportSet
from history_service.use_cases.import_set import ImportSet
from history_service.use_cases.measured_cases import MeasuredCases
from history_service.use_cases.prune_history import PruneHistory
from history_service.use_cases.put_corpus import CorpusStart, CorpusUpload, PutCorpus
from history_service.use_cases.read_runs import ReadRuns
from history_service.use_cases.record_run import RecordRun
from history_service.use_cases.replace_judgments import ReplaceJudgments, Replacement
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.history_builders import ABSENT_STATE, a_candidate

NOON_US = 1_767_268_800_000_000
GRACE_US = 1_000
FIRST_CASE = case_id(NOON_US, bytes(10))
"""The id of the first case of a store."""
FAILURE = Failure("rerank", "non_finite_score", "no number")


@dataclass
class ManualTime:
    """Time that moves when it is told to."""

    us: int = NOON_US

    def __call__(self) -> int:
        return self.us


@dataclass
class Store:
    """Every use case on one directory; `retain` Runs of a project are kept."""

    directory: Path
    retain: int = 500
    time: ManualTime = field(default_factory=ManualTime)
    _ids: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the directory, as at a start."""
        self.database = Database(self.directory / "local.db")
        self.blobs = BlobStore(self.directory / "blobs")
        self.leases, self.measured = Leases(), MeasuredCases()
        self.awaited = AwaitedCorpora(self.time, GRACE_US)
        self.collect = CollectGarbage(self.database, self.blobs, self.leases, self.awaited)
        self.prune = PruneHistory(self.database, self.collect, self.retain)
        self.clear = ClearHistory(self.database, self.collect, self.awaited)
        self.put_corpus = PutCorpus(self.database, self.blobs, self.leases, self.awaited, self.time)
        self.recording = RecordRun(self.database, Changes(), self.awaited)
        self.create_case = CreateCase(self.database, self.time, lambda: case_id(NOON_US, next(self._ids).to_bytes(10)))
        self.delete_case = DeleteCase(self.database, self.prune)
        self.replace_judgments = ReplaceJudgments(self.database, self.measured, self.time)
        self.read = ReadRuns(self.database, self.blobs)
        self.benchmark = Benchmark(self.database, self.measured)
        self.exporter = ExportSet(
            self.database, self.blobs, self.leases, self.measured, self.directory, self.time, self.time
        )
        self.importer = ImportSet(self.database, self.blobs, self.leases, Changes(), self.directory, self.time)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def begin_upload(self, memory: Manifest) -> CorpusUpload:
        """Send a manifest; what is missing is to be asked for."""
        count = len(memory.resources)
        upload = self.put_corpus.begin(CorpusStart(memory.effective_memory_hash, memory.project_id, count))
        upload.add_resources(memory.resources)
        return upload

    def put(self, memory: Manifest, bodies: Mapping[str, bytes]) -> list[str]:
        """Store a corpus; return the digests that were missing."""
        by_digest = {digest_of(body): body for body in bodies.values()}
        upload = self.begin_upload(memory)
        missing = upload.missing()
        for digest in missing:
            upload.add_part(digest, 0, by_digest[digest])
        upload.store()
        upload.close()
        return missing

    def record(self, run_id: str, memory: Manifest | None = None, **changes: Any) -> None:
        """Record a Run; `changes` are those of `a_trace`."""
        self.recording.finish(a_trace(run_id, memory, **changes)).result()

    def begin(self, run_id: str, project_id: str = "demo", create_time_us: int = NOON_US) -> None:
        """Insert a running Run."""
        self.recording.begin(a_start(run_id, project_id, create_time_us)).result()

    def judge(self, case_id: str, expected: int, *judgments: Judgment, request_id: str | None = None) -> int:
        """Replace judgments; return the version made."""
        replacement = Replacement(case_id, expected, "ada", request_id or f"request-{next(self._ids)}", judgments)
        return self.replace_judgments.replace(replacement).judgment_version

    def rows(self, statement: str) -> list[Any]:
        """Run a query."""
        with self.database.reading() as db:
            return list(db.execute_sql(statement).fetchall())

    def run_ids(self) -> list[str]:
        """Every Run, by arrival."""
        return [run_id for (run_id,) in self.rows("SELECT run_id FROM retrieval_runs ORDER BY sequence")]

    def files(self) -> set[str]:
        """The digests that have a file."""
        return {path.name for path in (self.directory / "blobs").glob("??/*")}

    def blob_rows(self) -> set[str]:
        """The digests that have a row."""
        return {digest for (digest,) in self.rows("SELECT digest FROM retrieval_corpus_blobs")}

    def manifests(self) -> set[str]:
        """The hashes that have rows."""
        return {name for (name,) in self.rows("SELECT DISTINCT effective_memory_hash FROM retrieval_run_resources")}


def a_memory(bodies: Mapping[str, bytes], project_id: str = "demo") -> Manifest:
    """A memory of documents by resource id."""
    resources = tuple(
        Resource(name, "project", "document", f"{name}.md", name, "text/markdown", digest_of(body), len(body), "parsed")
        for name, body in sorted(bodies.items())
    )
    return Manifest(manifest_hash(project_id, resources), project_id, resources)


def a_start(run_id: str, project_id: str = "demo", create_time_us: int = NOON_US) -> RunStart:
    """How a Run begins."""
    return RunStart(run_id, project_id, "how?", "activation", ABSENT_STATE, "ranker-1", create_time_us)


def a_trace(
    run_id: str,
    memory: Manifest | None = None,
    project_id: str = "demo",
    create_time_us: int = NOON_US,
    candidates: int = 0,
    failed: bool = False,
) -> RunTrace:
    """A whole Run, over an empty memory unless one is given."""
    used = memory or a_memory({}, project_id)
    rows = some_candidates(candidates)
    state = RunState.FAILED if failed else RunState.SUCCEEDED
    end = RunEnd(
        state,
        create_time_us + 1,
        (),
        False,
        FAILURE if failed else None,
        1,
        1,
        0,
        0,
        len(rows),
        candidates_digest(rows),
    )
    revisions = Revisions(effective_memory_hash=used.effective_memory_hash)
    return RunTrace(a_start(run_id, project_id, create_time_us), revisions, end, rows)


def some_candidates(count: int) -> tuple[Candidate, ...]:
    """Candidates of documents of their own."""
    return tuple(candidate_rows(pb.CandidateFrame(candidates=[a_candidate(n) for n in range(1, count + 1)])))

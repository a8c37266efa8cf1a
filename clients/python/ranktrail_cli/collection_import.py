"""Turns a test collection into a project's memory and judged cases.

A query that has a case already, of the same text over the same memory, is not asked again: an import that was
interrupted goes on where it ended. A case is pinned and judged in one go, which Ctrl-C waits for.
"""

import signal
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation_pb2
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.synchronisation import CASE_PHASE, SEND_PHASE, Progress, ensure_index
from ranktrail_client.client import Client
from ranktrail_client.collections import Collection, Document, Query
from ranktrail_client.errors import ProjectNotFound, RunNotFound
from ranktrail_client.frames import commit_frames
from ranktrail_client.paging import pages
from ranktrail_client.run_delivery import delivered_run

AUTHOR = "ranktrail import"
RUNS_AHEAD = 8
"""Runs that may be on their way to history while the next query is asked; far fewer than history keeps unpinned."""
DELIVERY_SECONDS = 120.0
"""The first Run waits for the whole corpus to reach history."""

CaseKey: TypeAlias = tuple[str, str, str]
Judgments: TypeAlias = Sequence[evaluation_pb2.EvaluationJudgment]


@dataclass(frozen=True, slots=True)
class ImportedCase:
    """What became of a query; the counts are of judgments that this import wrote."""

    query_id: str
    case_id: str
    run_id: str
    judgment_count: int
    missed_count: int
    already_existed: bool


@dataclass(slots=True)
class ImportReport:
    """What an import did.

    `other_resource_count` counts resources of the memory that the collection does not have, `other_case_count` cases of
    the project that are no query of it over this memory.
    """

    project_id: str
    document_count: int
    other_resource_count: int = 0
    commit_id: str = ""
    effective_memory_hash: str = ""
    index_revision: str = ""
    unit_count: int = 0
    other_case_count: int = 0
    cases: list[ImportedCase] = field(default_factory=list)


class CollectionImport:
    """One import; `report` says how far it has come, whatever ends it."""

    def __init__(self, client: Client, collection: Collection, project_id: str, progress: Progress) -> None:
        self._client = client
        self._collection = collection
        self._project_id = project_id
        self._progress = progress
        self.report = ImportReport(project_id, document_count=len(collection.documents))

    def run(self) -> None:
        """Commit the documents, ask every query, pin and judge each Run. Raises CommandFailed and RanktrailError."""
        self._check_recorder()
        self._check_drafts()
        self._commit()
        existing = self._existing_cases()
        waiting: deque[tuple[Query, str]] = deque()
        for query in self._collection.queries:
            if there := existing[_key(query)]:
                self._keep(query, there.pop())
                continue
            waiting.append((query, self._ask(query)))
            if len(waiting) > RUNS_AHEAD:
                self._pin(*waiting.popleft())
        while waiting:
            self._pin(*waiting.popleft())
        self.report.other_case_count += sum(map(len, existing.values()))

    def _check_recorder(self) -> None:
        if self._client.ranker.get_runtime().recorder.state == ranker_pb2.RecorderRuntime.STATE_OFF:
            raise CommandFailed("the ranker records no Runs: start it with a history service", Exit.INCOMPLETE)

    def _check_drafts(self) -> None:
        """Raise CommandFailed where a draft would stand over a document."""
        paths = {document.path: document.document_id for document in self._collection.documents}
        request = ranker_pb2.GetEffectiveMemoryRequest(project_id=self._project_id, layer=trace_pb2.LAYER_DRAFT)
        try:
            for page in pages(self._client.ranker.get_effective_memory, request):
                for draft in page.resources:
                    if draft.path in paths:
                        raise CommandFailed(
                            f"document {paths[draft.path]!r} has the path of a draft of project {self._project_id!r}: "
                            "import into a project of its own",
                            Exit.REFUSED,
                        )
        except ProjectNotFound:
            return

    def _commit(self) -> None:
        client, report = self._client, self.report
        header = ranker_pb2.CommitHeader(
            project_id=self._project_id, layer=trace_pb2.LAYER_PROJECT, mode=ranker_pb2.CommitHeader.MODE_PATCH
        )
        report.commit_id = client.ranker.commit_memory(commit_frames(header, self._resources())).commit_id
        index = ensure_index(client, self._project_id, self._progress)
        report.index_revision, report.unit_count = index.index_revision, index.unit_count
        report.effective_memory_hash = index.effective_memory_hash
        request = ranker_pb2.GetEffectiveMemoryRequest(project_id=self._project_id, page_size=1)
        memory = client.ranker.get_effective_memory(request)
        report.other_resource_count = memory.resource_count - len(self._collection.documents)

    def _resources(self) -> Iterator[tuple[ranker_pb2.ResourceHeader, bytes]]:
        total = len(self._collection.documents)
        for done, document in enumerate(self._collection.documents, start=1):
            yield _header(document), document.text.encode("utf-8")
            self._progress.step(SEND_PHASE, done, total)

    def _existing_cases(self) -> defaultdict[CaseKey, list[evaluation_pb2.EvaluationCase]]:
        """Return the project's cases over this memory, the oldest of equal ones last."""
        found = defaultdict(list)
        request = evaluation_pb2.ListEvaluationCasesRequest(project_id=self._project_id)
        for page in pages(self._client.evaluation.list_evaluation_cases, request):
            for case in page.evaluation_cases:
                if case.corpus_hash == self.report.effective_memory_hash:
                    found[case.query, case.category, case.notes].append(case)
                else:
                    self.report.other_case_count += 1
        return found

    def _ask(self, query: Query) -> str:
        request = ranker_pb2.ActivateMemoryRequest(project_id=self._project_id, query=query.text)
        return self._client.ranker.activate_memory(request).run_id

    def _pin(self, query: Query, run_id: str) -> None:
        try:
            self._pin_run(query, run_id)
        except RunNotFound:
            # A history that retains very few Runs removed it before its turn came; the newest it never does.
            self._pin_run(query, self._ask(query))

    def _pin_run(self, query: Query, run_id: str) -> None:
        found = delivered_run(self._client, run_id, DELIVERY_SECONDS)
        if found.run.effective_memory_hash != self.report.effective_memory_hash:
            raise CommandFailed(
                f"project {self._project_id!r} was changed while it was asked: import again, and let nobody commit",
                Exit.CONFLICT,
            )
        request = evaluation_pb2.CreateEvaluationCaseRequest(run_id=run_id, category=query.category, notes=query.notes)
        with _uninterrupted():
            case = self._client.evaluation.create_evaluation_case(request).evaluation_case
            self._done(query, case, self._judge(query, case, found), already_existed=False)

    def _keep(self, query: Query, case: evaluation_pb2.EvaluationCase) -> None:
        """Leave a case as it is; judge one that was never judged, as an import that was killed may leave one."""
        judgments: Judgments = ()
        if case.judgment_version == 1:
            request = history_pb2.GetRetrievalRunRequest(run_id=case.run_id)
            judgments = self._judge(query, case, self._client.history.get_retrieval_run(request))
        self._done(query, case, judgments, already_existed=True)

    def _judge(
        self, query: Query, case: evaluation_pb2.EvaluationCase, run: history_pb2.GetRetrievalRunResponse
    ) -> Judgments:
        judgments = _judgments(query, run.candidates)
        if judgments:
            request = evaluation_pb2.ReplaceEvaluationJudgmentsRequest(
                case_id=case.case_id,
                expected_judgment_version=1,
                author=AUTHOR,
                request_id=f"import-{case.case_id}",
                judgments=judgments,
            )
            self._client.evaluation.replace_evaluation_judgments(request)
        return judgments

    def _done(
        self, query: Query, case: evaluation_pb2.EvaluationCase, judgments: Judgments, *, already_existed: bool
    ) -> None:
        missed_count = sum(judgment.missed for judgment in judgments)
        cases = self.report.cases
        cases.append(
            ImportedCase(query.query_id, case.case_id, case.run_id, len(judgments), missed_count, already_existed)
        )
        self._progress.step(CASE_PHASE, len(cases), len(self._collection.queries))


def _key(query: Query) -> CaseKey:
    return query.text, query.category, query.notes


def _header(document: Document) -> ranker_pb2.ResourceHeader:
    return ranker_pb2.ResourceHeader(
        resource_id=document.document_id,
        kind=document.kind,
        path=document.path,
        title=document.title,
        media_type=document.media_type,
    )


def _judgments(query: Query, candidates: Iterable[trace_pb2.Candidate]) -> Judgments:
    recalled = {candidate.resource_id for candidate in candidates}
    return [
        evaluation_pb2.EvaluationJudgment(
            resource_id=document_id,
            relevance=relevance,
            missed=document_id not in recalled,
            source=evaluation_pb2.EvaluationJudgment.SOURCE_IMPORT,
        )
        for document_id, relevance in sorted(query.judgments.items())
    ]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off until the block has ended."""
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt

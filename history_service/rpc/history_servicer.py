"""HistoryService: each method converts in, calls one use case, converts out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from history_service.domain.limits import (
    MAX_BACKUP_SECONDS,
    MAX_CORPUS_TEXT_BYTES,
    MAX_PROJECT_ID_BYTES,
    MAX_RESOURCE_ID_BYTES,
)
from history_service.rpc.candidates import candidate_message
from history_service.rpc.convert import case_message, judgment_message, run_filter, run_message
from history_service.rpc.fields import checked_run_id, checked_text, timestamp
from history_service.rpc.page_token import Scalar, make_page_token, page_size_of, read_page_token
from history_service.rpc.recording import RecordingStream
from history_service.rpc.reports import report_message
from history_service.rpc.resources import resource_message
from history_service.rpc.uploading import uploads
from history_service.use_cases.backup_store import BackupStore
from history_service.use_cases.check_store import CheckStore
from history_service.use_cases.clear_history import ClearHistory
from history_service.use_cases.describe_runtime import Holdings
from history_service.use_cases.put_corpus import PutCorpus
from history_service.use_cases.read_runs import ReadRuns
from history_service.use_cases.record_run import RecordRun
from history_service.use_cases.recover_interrupted import Abandonment
from history_service.use_cases.watch_runs import WatchRuns
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2_grpc
from ranktrail_serving.limits import CallLimits
from ranktrail_serving.patience import within
from ranktrail_serving.server import Stopping
from ranktrail_serving.storage_messages import backup_frames, check_events

SERVICE = "ranktrail.history.v1.HistoryService"
RECORD_METHOD = f"/{SERVICE}/RecordRetrievalRuns"
PUT_CORPUS_METHOD = f"/{SERVICE}/PutCorpus"
WATCH_METHOD = f"/{SERVICE}/WatchRetrievalRuns"
READ_BODY_METHOD = f"/{SERVICE}/ReadRunResource"
CHECK_METHOD = f"/{SERVICE}/CheckStore"
BACKUP_METHOD = f"/{SERVICE}/BackupStore"
_PIECE_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class Process:
    """What this process is."""

    version: str
    contract_version: str
    instance_id: str
    start_time_us: int
    data_dir: str


class HistoryServicer(history_service_pb2_grpc.HistoryServiceServicer):
    """Records Runs and answers what they were."""

    def __init__(
        self,
        process: Process,
        holdings: Callable[[], Holdings],
        record: RecordRun,
        abandonment: Abandonment,
        put_corpus: PutCorpus,
        read: ReadRuns,
        watch: WatchRuns,
        clear: ClearHistory,
        check: CheckStore,
        backup: BackupStore,
        limits: CallLimits,
        stopping: Stopping,
    ) -> None:
        self._process = process
        self._holdings = holdings
        self._record = record
        self._abandonment = abandonment
        self._put_corpus = put_corpus
        self._read = read
        self._watch = watch
        self._clear = clear
        self._check = check
        self._backup = backup
        self._limits = limits
        self._stopping = stopping

    def RecordRetrievalRuns(
        self, request_iterator: Any, _context: grpc.ServicerContext
    ) -> Iterator[pb.RecordRetrievalRunsResponse]:
        """Record Runs until the client or the server ends the stream."""
        stream = RecordingStream(request_iterator, self._record, self._abandonment)
        unsubscribe = self._stopping.subscribe(stream.end)
        try:
            yield from stream.responses()
        finally:
            unsubscribe()

    def PutCorpus(self, request_iterator: Any, _context: grpc.ServicerContext) -> Iterator[pb.PutCorpusResponse]:
        """Store corpora."""
        yield from uploads(request_iterator, self._put_corpus)

    def ListRetrievalRuns(
        self, request: pb.ListRetrievalRunsRequest, _context: grpc.ServicerContext
    ) -> pb.ListRetrievalRunsResponse:
        """List Runs, newest first."""
        size, which = page_size_of(request.page_size), run_filter(request)
        state = which.state and which.state.value
        filters: list[Scalar] = [which.project_id, state, which.query_text, which.pinned]
        filters += [which.create_time_from_us, which.create_time_to_us]
        position = read_page_token("ListRetrievalRuns", filters, request.page_token, (int, int))
        runs = self._read.page(which, (position[0], position[1]) if position else None, size + 1)
        page, token = runs[:size], ""
        if len(runs) > size:
            token = make_page_token("ListRetrievalRuns", filters, [page[-1].start.create_time_us, page[-1].sequence])
        return pb.ListRetrievalRunsResponse(runs=map(run_message, page), next_page_token=token)

    def GetRetrievalRun(
        self, request: pb.GetRetrievalRunRequest, _context: grpc.ServicerContext
    ) -> pb.GetRetrievalRunResponse:
        """Return one Run, whole."""
        whole = self._read.whole(checked_run_id(request.run_id))
        return pb.GetRetrievalRunResponse(
            run=run_message(whole.run),
            candidates=map(candidate_message, whole.candidates),
            resources=map(resource_message, whole.resources),
            evaluation_case=None if whole.case is None else case_message(whole.case),
            judgments=map(judgment_message, whole.judgments),
            report=None if whole.report is None else report_message(whole.report),
        )

    def ListRunResources(
        self, request: pb.ListRunResourcesRequest, _context: grpc.ServicerContext
    ) -> pb.ListRunResourcesResponse:
        """List a Run's Effective Memory."""
        size, run_id = page_size_of(request.page_size), checked_run_id(request.run_id)
        text = checked_text("text", request.text, MAX_CORPUS_TEXT_BYTES, required=False)
        filters: list[Scalar] = [run_id, text]
        position = read_page_token("ListRunResources", filters, request.page_token, (str,))
        found = self._read.resources(run_id, text, position[0] if position else None, size + 1)
        page, token = found.resources[:size], ""
        if len(found.resources) > size:
            token = make_page_token("ListRunResources", filters, [page[-1].resource_id])
        return pb.ListRunResourcesResponse(
            resources=map(resource_message, page), next_page_token=token, resource_count=found.resource_count
        )

    def ReadRunResource(
        self, request: pb.ReadRunResourceRequest, _context: grpc.ServicerContext
    ) -> Iterator[pb.ReadRunResourceResponse]:
        """Stream one body; nothing of it before all of it is checked."""
        resource_id = checked_text("resource_id", request.resource_id, MAX_RESOURCE_ID_BYTES)
        resource, body = self._read.body(checked_run_id(request.run_id), resource_id)
        yield pb.ReadRunResourceResponse(resource=resource_message(resource), content=body[:_PIECE_BYTES])
        for start in range(_PIECE_BYTES, len(body), _PIECE_BYTES):
            yield pb.ReadRunResourceResponse(content=body[start : start + _PIECE_BYTES])

    def WatchRetrievalRuns(
        self, request: pb.WatchRetrievalRunsRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.WatchRetrievalRunsResponse]:
        """Send each change until the client or the server ends the watch."""
        project = checked_text("project_id", request.project_id, MAX_PROJECT_ID_BYTES, required=False) or None
        after = request.after_change_sequence if request.HasField("after_change_sequence") else None
        position = self._watch.position(after)
        yield pb.WatchRetrievalRunsResponse(change_sequence=position)
        changes, stopping = self._watch.changes, self._stopping
        context.add_callback(changes.tell)
        unsubscribe = stopping.subscribe(changes.tell)
        try:
            for run in self._watch.follow(position, project, lambda: stopping.is_set or not context.is_active()):
                yield pb.WatchRetrievalRunsResponse(run=run_message(run), change_sequence=run.change_sequence)
        finally:
            unsubscribe()

    def ClearRetrievalRuns(
        self, request: pb.ClearRetrievalRunsRequest, _context: grpc.ServicerContext
    ) -> pb.ClearRetrievalRunsResponse:
        """Delete the Runs that nothing keeps, or only count them."""
        project = checked_text("project_id", request.project_id, MAX_PROJECT_ID_BYTES, required=False) or None
        removal = self._clear.preview(project) if request.dry_run else self._clear.clear(project)
        return pb.ClearRetrievalRunsResponse(
            deleted_run_count=removal.run_count,
            deleted_blob_count=removal.blob_count,
            deleted_bytes=removal.blob_bytes,
        )

    def CheckStore(
        self, request: pb.CheckStoreRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.CheckStoreResponse]:
        """Check everything, until the client or the server ends it."""
        stopping = self._stopping

        def is_stopped() -> bool:
            return stopping.is_set or not context.is_active()

        for event in check_events(self._check.check(request.repair, is_stopped), is_stopped):
            yield pb.CheckStoreResponse(event=event)

    def BackupStore(
        self, _request: pb.BackupStoreRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.BackupStoreResponse]:
        """Stream a copy of everything."""
        parts = within(self._backup.backup(), MAX_BACKUP_SECONDS, context.cancel)
        for frame in backup_frames(parts, self._process.version):
            yield pb.BackupStoreResponse(frame=frame)

    def GetRuntime(self, _request: pb.GetRuntimeRequest, _context: grpc.ServicerContext) -> pb.GetRuntimeResponse:
        """Say what this process is and does now."""
        holdings, process = self._holdings(), self._process
        return pb.GetRuntimeResponse(
            version=process.version,
            contract_version=process.contract_version,
            instance_id=process.instance_id,
            start_time=timestamp(process.start_time_us),
            data_dir=process.data_dir,
            database_bytes=holdings.database_bytes,
            blob_bytes=holdings.blob_bytes,
            blob_count=holdings.blob_count,
            schema_version=holdings.schema_version,
            run_count=holdings.run_count,
            running_run_count=holdings.running_run_count,
            case_count=holdings.case_count,
            write_failure_count=holdings.write_failure_count + self._put_corpus.blobs.write_failure_count,
            recorder_count=self._limits.under_way(RECORD_METHOD),
            watcher_count=self._limits.under_way(WATCH_METHOD),
            change_sequence=holdings.change_sequence,
        )

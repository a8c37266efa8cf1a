"""A history service in memory, with faults: `python -m tests.fakes.history unix:PATH` serves it as a process."""

import hashlib
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health, health_pb2_grpc
from grpc_status import rpc_status

from ranker_service.domain.digest import canonical_json, digest_of
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2_grpc

INTERRUPTED = "retrieval_interrupted"
MISSING_PER_MESSAGE = 1_000
_LAYERS = {1: "organization", 2: "project", 3: "draft"}


@dataclass
class StoredRun:
    """What history knows of a Run; `finished` is unset while it runs, and where it was interrupted."""

    started: pb.RunStarted = field(default_factory=pb.RunStarted)
    revisions: pb.RecordRetrievalRunsRequest | None = None
    candidates: list[Any] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)
    finished: pb.RunFinished | None = None
    interrupted: bool = False

    def same(self, other: "StoredRun") -> bool:
        return (self.started, self.revisions, self.candidates, self.finished) == (
            other.started,
            other.revisions,
            other.candidates,
            other.finished,
        )


@dataclass
class Faults:
    """What the fake does wrong; change it while it serves."""

    delay_seconds: float = 0.0
    silent: threading.Event = field(default_factory=threading.Event)
    refusals: deque[str] = field(default_factory=deque)
    ends_after_frames: int | None = None
    lost_answers: int = 0
    put_failures: deque[str] = field(default_factory=deque)


class FakeHistory(history_service_pb2_grpc.HistoryServiceServicer):
    """Keeps what it is sent; `recorded` lists run ids in the order of their first commit."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.runs: dict[str, StoredRun] = {}
        self.recorded: list[str] = []
        self.answers: list[pb.RecordRetrievalRunsResponse] = []
        self.most_unanswered = 0
        self.largest_message = 0
        self.metadata: dict[str, str] = {}
        self.corpora: dict[str, list[Any]] = {}
        self.blobs: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._server: grpc.Server | None = None

    def start(self, address: str) -> None:
        """Serve, until `stop`; what was recorded outlives both."""
        if address.startswith("unix:"):
            Path(address.removeprefix("unix:")).unlink(missing_ok=True)
        self._server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        history_service_pb2_grpc.add_HistoryServiceServicer_to_server(self, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(health.HealthServicer(), self._server)
        self._server.add_insecure_port(address)
        self._server.start()

    def stop(self) -> None:
        """Cut every stream and serve no more."""
        if self._server is not None:
            self._server.stop(0).wait()
            self._server = None

    def RecordRetrievalRuns(self, request_iterator: Any, context: Any) -> Iterator[pb.RecordRetrievalRunsResponse]:  # noqa: N802
        partial: dict[str, StoredRun] = {}
        self.metadata = dict(context.invocation_metadata())
        try:
            yield from self._record_all(request_iterator, context, partial)
        except grpc.RpcError:
            pass  # the caller went away
        finally:
            self._interrupt(partial)

    def _record_all(self, frames: Any, context: Any, partial: dict[str, StoredRun]) -> Iterator[Any]:
        for count, frame in enumerate(frames):
            self._wait_while_silent(context)
            if count == self.faults.ends_after_frames:
                context.abort(grpc.StatusCode.UNAVAILABLE, "the fake ends the stream")
            self.largest_message = max(self.largest_message, frame.ByteSize())
            run = partial.setdefault(frame.run_id, StoredRun())
            self.most_unanswered = max(self.most_unanswered, len(partial))
            self._take_frame(run, frame)
            if run.finished is not None:
                time.sleep(self.faults.delay_seconds)
                self._wait_while_silent(context)
                del partial[frame.run_id]
                answer = self._finish(frame.run_id, run)
                if self.faults.lost_answers:
                    self.faults.lost_answers -= 1
                    context.abort(grpc.StatusCode.UNAVAILABLE, "the fake loses the answer")
                self.answers.append(answer)
                yield answer

    def _take_frame(self, run: StoredRun, frame: pb.RecordRetrievalRunsRequest) -> None:
        kind = frame.WhichOneof("frame")
        if kind == "started":
            run.started = frame.started
            with self._lock:
                self.runs.setdefault(frame.run_id, StoredRun(started=frame.started))
        elif kind == "revisions":
            run.revisions = frame
        elif kind == "candidates":
            run.candidates += frame.candidates.candidates
            run.digest.update(frame.candidates.SerializeToString(deterministic=True))
        else:
            run.finished = frame.finished

    def _finish(self, run_id: str, run: StoredRun) -> pb.RecordRetrievalRunsResponse:
        with self._lock:
            reason = self.faults.refusals.popleft() if self.faults.refusals else self._objection(run_id, run)
            if reason:
                refused = pb.Refused(reason=reason, message=f"the fake says {reason}")
                return pb.RecordRetrievalRunsResponse(run_id=run_id, refused=refused)
            known = self.runs.get(run_id)
            already = known is not None and known.finished is not None
            if not already:
                self.runs[run_id] = run
                self.recorded.append(run_id)
            return pb.RecordRetrievalRunsResponse(run_id=run_id, recorded=pb.Recorded(already_recorded=already))

    def _objection(self, run_id: str, run: StoredRun) -> str:
        assert run.finished is not None
        known = self.runs.get(run_id)
        if known is not None and known.finished is not None and not known.same(run):
            return "RUN_CONFLICT"
        counted = run.finished.candidate_count == len(run.candidates)
        if not counted or run.finished.candidates_digest != run.digest.hexdigest():
            return "FIELD_INVALID"
        memory_hash = run.revisions.revisions.effective_memory_hash if run.revisions is not None else ""
        return "CORPUS_NOT_FOUND" if memory_hash and memory_hash not in self.corpora else ""

    def _interrupt(self, partial: dict[str, StoredRun]) -> None:
        with self._lock:
            for run_id in partial:
                run = self.runs.get(run_id)
                if run is not None and run.finished is None:
                    run.interrupted = True

    def _wait_while_silent(self, context: Any) -> None:
        while self.faults.silent.is_set() and context.is_active():
            time.sleep(0.01)

    def PutCorpus(self, request_iterator: Any, context: Any) -> Iterator[pb.PutCorpusResponse]:  # noqa: N802
        with suppress(grpc.RpcError):
            for frame in request_iterator:
                self._wait_while_silent(context)
                if self.faults.put_failures:
                    _abort(context, self.faults.put_failures.popleft())
                if frame.WhichOneof("frame") != "start":
                    _abort(context, "FIELD_INVALID")
                yield from self._put(frame.start, request_iterator, context)

    def _put(self, start: pb.CorpusStart, frames: Any, context: Any) -> Iterator[pb.PutCorpusResponse]:
        resources: list[Any] = []
        while len(resources) < start.resource_count:
            resources += next(frames).manifest.resources
        rows = [[r.resource_id, _LAYERS[r.layer], r.kind, r.path, r.title, r.media_type, r.digest] for r in resources]
        if digest_of(canonical_json([start.project_id, rows])) != start.effective_memory_hash:
            _abort(context, "FIELD_INVALID")
        missing = sorted({resource.digest for resource in resources}.difference(self.blobs))
        for begin in range(0, max(len(missing), 1), MISSING_PER_MESSAGE):
            batch = missing[begin : begin + MISSING_PER_MESSAGE]
            more = begin + MISSING_PER_MESSAGE < len(missing)
            yield pb.PutCorpusResponse(missing=pb.MissingBlobs(digests=batch, more=more))
            self._receive(batch, {r.digest: r.size_bytes for r in resources}, frames, context)
        self.corpora[start.effective_memory_hash] = resources
        stored = pb.CorpusStored(effective_memory_hash=start.effective_memory_hash, written_blob_count=len(missing))
        yield pb.PutCorpusResponse(stored=stored)

    def _receive(self, digests: list[str], sizes: dict[str, int], frames: Any, context: Any) -> None:
        parts: deque[pb.BlobPart] = deque()
        for digest in digests:
            body, first = b"", True
            while first or len(body) < sizes[digest]:
                if not parts:
                    frame = next(frames)
                    self.largest_message = max(self.largest_message, frame.ByteSize())
                    parts.extend(frame.blobs.parts)
                part = parts.popleft()
                if (part.digest, part.offset) != (digest, len(body)):
                    _abort(context, "FIELD_INVALID")
                body, first = body + part.content, False
            if digest_of(body) != digest:
                _abort(context, "BLOB_DIGEST_MISMATCH")
            self.blobs[digest] = body

    def GetRetrievalRun(self, request: pb.GetRetrievalRunRequest, context: Any) -> pb.GetRetrievalRunResponse:  # noqa: N802
        run = self.runs.get(request.run_id)
        if run is None:
            _abort(context, "RUN_NOT_FOUND")
            raise AssertionError
        state = pb.RetrievalRun.STATE_FAILED if run.interrupted else pb.RetrievalRun.STATE_RUNNING
        if run.finished is not None:
            state = run.finished.state
        found = pb.RetrievalRun(
            run_id=request.run_id, project_id=run.started.project_id, query=run.started.query, state=state
        )
        return pb.GetRetrievalRunResponse(run=found, candidates=run.candidates)


def _abort(context: Any, reason: str) -> None:
    """End a call with an ErrorInfo."""
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="ranktrail"))
    codes = {"RUN_NOT_FOUND": grpc.StatusCode.NOT_FOUND, "OVERLOADED": grpc.StatusCode.RESOURCE_EXHAUSTED}
    codes["INTERNAL"] = grpc.StatusCode.INTERNAL
    code = codes.get(reason, grpc.StatusCode.INVALID_ARGUMENT).value[0]
    status = status_pb2.Status(code=code, message=f"the fake says {reason}", details=[detail])
    context.abort_with_status(rpc_status.to_status(status))


def main() -> None:
    """Serve at the address given until a signal ends the process."""
    fake = FakeHistory()
    fake.start(sys.argv[1])
    print("serving", flush=True)  # noqa: T201 - whoever started it waits for this
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    fake.stop()


if __name__ == "__main__":
    main()

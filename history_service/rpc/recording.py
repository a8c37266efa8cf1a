"""One recording stream: a thread of its own reads ahead and converts, the writer commits, the answers follow."""

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait

import grpc

from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_UNANSWERED_RUNS
from history_service.rpc.candidates import candidate_rows
from history_service.rpc.convert import revisions, run_end, run_start
from history_service.rpc.fields import checked_run_id
from history_service.rpc.reasons import row_of
from history_service.use_cases.assemble_run import RunAssembly
from history_service.use_cases.record_run import RecordRun
from history_service.use_cases.recover_interrupted import Abandonment
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_serving.errors import Overloaded, RequestUnparsable
from ranktrail_serving.interceptor import Requests
from ranktrail_serving.status import INTERNAL, INTERNAL_MESSAGE, metadata_of, sent_text
from ranktrail_serving.wire_walk import top_level_text

_RUN_ID_NUMBER = pb.RecordRetrievalRunsRequest.RUN_ID_FIELD_NUMBER
_Outcome = tuple[str, bool | Exception]


class RecordingStream:
    """Takes the frames of many Runs in any mixture; answers each Run once, when it is on disk or refused."""

    def __init__(self, requests: Requests, record: RecordRun, abandonment: Abandonment) -> None:
        self._requests = requests
        self._record = record
        self._abandonment = abandonment
        self._assemblies: dict[str, RunAssembly] = {}
        self._outcomes: queue.SimpleQueue[_Outcome | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending = 0
        self._ended = False
        self._failure: Exception | None = None
        self._begun: list[Future[None]] = []

    def responses(self) -> Iterator[pb.RecordRetrievalRunsResponse]:
        """Read in a thread of its own and yield the answers; raise what ends the stream, after the answers it owes."""
        threading.Thread(target=self._read, name="history-recording", daemon=True).start()
        while (outcome := self._outcomes.get()) is not None:
            yield _response(*outcome)
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Take no more frames, and end once every finished Run is answered. May be called from any thread."""
        with self._lock:
            if not self._ended and self._pending == 0:
                self._outcomes.put(None)
            self._ended = True

    def _read(self) -> None:
        try:
            while not self._ended:
                try:
                    frame = next(self._requests)
                except RequestUnparsable as error:
                    self._refuse_unparsable(error)
                else:
                    self._take(frame)
        except (StopIteration, grpc.RpcError):
            pass  # the client is done, or gone
        except Exception as error:
            self._failure = error
        finally:
            # What was begun is on disk before the sender sees the end; writes are done in the order given.
            wait(self._begun)
            self._abandonment.let_go(self._assemblies, finished=False)
            self.end()

    def _take(self, frame: pb.RecordRetrievalRunsRequest) -> None:
        assembly = self._assembly(frame.run_id)
        part = frame.WhichOneof("frame")
        try:
            self._take_part(assembly, frame, part)
        except FieldInvalid as problem:
            assembly.refuse(problem)
        if part == "finished" and assembly.problem is not None:
            self._answer_refused(assembly)

    def _take_part(self, assembly: RunAssembly, frame: pb.RecordRetrievalRunsRequest, part: str | None) -> None:
        if assembly.problem is not None:
            return
        if part == "started":
            start = run_start(checked_run_id(frame.run_id), frame.started)
            assembly.start(start)
            self._begun = [self._record.begin(start)]
        elif part == "revisions":
            assembly.revise(revisions(frame.revisions))
        elif part == "candidates":
            assembly.add(candidate_rows(frame.candidates), frame.candidates.SerializeToString(deterministic=True))
        elif part == "finished":
            self._finish(assembly, frame.finished)
        else:
            raise FieldInvalid("frame", "is missing: send started, revisions, candidates or finished")

    def _finish(self, assembly: RunAssembly, message: pb.RunFinished) -> None:
        future = self._record.finish(assembly.finish(run_end(message)))
        del self._assemblies[assembly.run_id]
        with self._lock:
            self._pending += 1
        future.add_done_callback(lambda done: self._answer(assembly.run_id, _result(done)))

    def _assembly(self, run_id: str) -> RunAssembly:
        assembly = self._assemblies.get(run_id)
        if assembly is None:
            # An answer leaves the queue once the one before it was sent: who reads none is held to the limit too.
            if len(self._assemblies) + self._pending + self._outcomes.qsize() >= MAX_UNANSWERED_RUNS:
                raise Overloaded("Runs of this stream begun and not answered", MAX_UNANSWERED_RUNS)
            assembly = self._assemblies[run_id] = RunAssembly(run_id)
            self._abandonment.hold(run_id)
        return assembly

    def _refuse_unparsable(self, error: RequestUnparsable) -> None:
        """Refuse the Run of a frame that does not parse; raise the error where not even its run_id can be read."""
        run_id = top_level_text(error.raw, _RUN_ID_NUMBER)
        if not run_id:
            raise error
        assembly = self._assembly(run_id)
        assembly.refuse(FieldInvalid(error.field, str(error).removeprefix(f"{error.field} ")))
        if error.field.partition(".")[0] == "finished":
            self._answer_refused(assembly)

    def _answer_refused(self, assembly: RunAssembly) -> None:
        del self._assemblies[assembly.run_id]
        with self._lock:
            self._pending += 1
        self._answer(assembly.run_id, assembly.problem or FieldInvalid("finished", "is wrong"))

    def _answer(self, run_id: str, result: bool | Exception) -> None:
        self._abandonment.let_go([run_id], finished=isinstance(result, bool))
        with self._lock:
            self._pending -= 1
            self._outcomes.put((run_id, result))
            if self._ended and self._pending == 0:
                self._outcomes.put(None)


def _result(done: "Future[bool]") -> bool | Exception:
    error = done.exception()
    if error is None:
        return done.result()
    return error if isinstance(error, Exception) else RuntimeError(str(error))


def _response(run_id: str, result: bool | Exception) -> pb.RecordRetrievalRunsResponse:
    if isinstance(result, bool):
        return pb.RecordRetrievalRunsResponse(run_id=run_id, recorded=pb.Recorded(already_recorded=result))
    row = row_of(result)
    refused = pb.Refused(
        reason=row.reason,
        message=INTERNAL_MESSAGE if row is INTERNAL else sent_text(str(result)),
        metadata=metadata_of(row, result),
    )
    return pb.RecordRetrievalRunsResponse(run_id=run_id, refused=refused)

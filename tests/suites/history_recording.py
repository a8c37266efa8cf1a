"""What a recorder relies on of HistoryService; the service and its fake both pass it.

A subclass gives a fixture `history` that returns a stub on a service without faults, and `interrupted_seconds`, how
long it may take until a Run whose stream ended is failed.
"""

import queue
import time
import uuid
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from ranker_service.domain.digest import digest_of
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace
from ranker_service.recorder.candidate_bytes import CandidateEncoder
from ranker_service.recorder.frames import corpus_frames, run_frames, with_digest
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from tests.traces import a_failed_trace, a_memory, a_trace

TIMEOUT_SECONDS = 30.0


def frames_of(trace: RunTrace) -> list[pb.RecordRetrievalRunsRequest]:
    """Return a Run's frames."""
    joined = [b"".join(pieces) for pieces in run_frames(trace, map(CandidateEncoder().encode, trace.candidates))]
    return [pb.RecordRetrievalRunsRequest.FromString(frame) for frame in with_digest(trace.run_id, joined)]


def a_new_memory(bodies: dict[str, str]) -> EffectiveMemory:
    """Return a memory of a project that no other test has."""
    return a_memory(f"project-{uuid.uuid4()}", bodies)


def record(
    history: HistoryServiceStub, frames: list[pb.RecordRetrievalRunsRequest]
) -> list[pb.RecordRetrievalRunsResponse]:
    """Send frames on one stream and return every answer."""
    return list(history.RecordRetrievalRuns(iter(frames), timeout=TIMEOUT_SECONDS))


def outcome(answer: pb.RecordRetrievalRunsResponse) -> str:
    """Return "recorded", "already recorded" or the reason of a refusal."""
    if answer.WhichOneof("outcome") == "refused":
        return answer.refused.reason
    return "already recorded" if answer.recorded.already_recorded else "recorded"


class Put:
    """One PutCorpus stream, step by step."""

    def __init__(self, history: HistoryServiceStub) -> None:
        self._frames: queue.SimpleQueue[pb.PutCorpusRequest | None] = queue.SimpleQueue()
        self._answers: Iterator[pb.PutCorpusResponse] = history.PutCorpus(self._sent(), timeout=TIMEOUT_SECONDS)

    def _sent(self) -> Iterator[pb.PutCorpusRequest]:
        while (frame := self._frames.get()) is not None:
            yield frame

    def manifest(self, memory: EffectiveMemory) -> list[str]:
        """Send a manifest; return the digests that history lacks."""
        for frame in corpus_frames(memory):
            self._frames.put(pb.PutCorpusRequest.FromString(frame))
        missing: list[str] = []
        while True:
            answer = next(self._answers)
            assert answer.WhichOneof("outcome") == "missing"
            missing += answer.missing.digests
            if not answer.missing.more:
                return missing

    def parts(self, *parts: tuple[str, int, bytes]) -> None:
        """Send parts of bodies in one frame."""
        blobs = [pb.BlobPart(digest=digest, offset=offset, content=content) for digest, offset, content in parts]
        self._frames.put(pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=blobs)))

    def stored(self) -> pb.CorpusStored:
        """Return the answer to a whole corpus."""
        answer = next(self._answers)
        assert answer.WhichOneof("outcome") == "stored", answer
        return answer.stored

    def end(self) -> None:
        """Send no more, and see the stream end well."""
        self._frames.put(None)
        assert list(self._answers) == []


def put(history: HistoryServiceStub, memory: EffectiveMemory, bodies: dict[str, str]) -> None:
    """Store a corpus."""
    by_digest = {digest_of(body.encode()): body.encode() for body in bodies.values()}
    stream = Put(history)
    for digest in stream.manifest(memory):
        stream.parts((digest, 0, by_digest[digest]))
    stream.stored()
    stream.end()


class HistoryRecordingSuite:
    """See the module."""

    interrupted_seconds = 1.0

    @pytest.fixture
    def memory(self, history: HistoryServiceStub) -> EffectiveMemory:
        """Return a memory that history has."""
        bodies = {"guide.md": f"Guide {uuid.uuid4()}"}
        memory = a_new_memory(bodies)
        put(history, memory, bodies)
        return memory

    def state(self, history: HistoryServiceStub, run_id: str) -> Any:
        """Return a Run's state; None where history does not know it."""
        try:
            request = pb.GetRetrievalRunRequest(run_id=run_id)
            return history.GetRetrievalRun(request, timeout=TIMEOUT_SECONDS).run.state
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
            return None

    def test_a_whole_run_is_recorded_with_every_candidate(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        trace = a_trace(f"run-{uuid.uuid4()}", memory, candidates=7)
        frames = frames_of(trace)
        assert [outcome(answer) for answer in record(history, frames)] == ["recorded"]
        found = history.GetRetrievalRun(pb.GetRetrievalRunRequest(run_id=trace.run_id), timeout=TIMEOUT_SECONDS)
        assert found.run.state == pb.RetrievalRun.STATE_SUCCEEDED
        assert list(found.candidates) == list(frames[2].candidates.candidates)

    def test_the_same_run_again_is_recorded_already(self, history: HistoryServiceStub, memory: EffectiveMemory) -> None:
        frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
        answers = [outcome(answer) for answer in (*record(history, frames), *record(history, frames))]
        assert answers == ["recorded", "already recorded"]

    def test_another_trace_under_a_known_id_is_a_conflict_and_the_stream_goes_on(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        run_id, other_id = f"run-{uuid.uuid4()}", f"run-{uuid.uuid4()}"
        traces = [
            a_trace(run_id, memory),
            a_trace(run_id, memory, query="another question"),
            a_trace(other_id, memory),
        ]
        answers = record(history, [frame for trace in traces for frame in frames_of(trace)])
        assert sorted((answer.run_id, outcome(answer)) for answer in answers) == sorted(
            [(run_id, "recorded"), (run_id, "RUN_CONFLICT"), (other_id, "recorded")]
        )

    def test_a_run_that_failed_before_its_memory_was_known_needs_no_corpus(self, history: HistoryServiceStub) -> None:
        frames = frames_of(a_failed_trace(f"run-{uuid.uuid4()}"))
        assert [outcome(answer) for answer in record(history, frames)] == ["recorded"]

    def test_a_run_before_its_corpus_is_refused_and_recorded_after_it(self, history: HistoryServiceStub) -> None:
        bodies = {"guide.md": f"Guide {uuid.uuid4()}"}
        memory = a_new_memory(bodies)
        frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
        assert [outcome(answer) for answer in record(history, frames)] == ["CORPUS_NOT_FOUND"]
        put(history, memory, bodies)
        assert [outcome(answer) for answer in record(history, frames)] == ["recorded"]

    def test_an_announced_run_is_running_and_its_frames_may_be_mixed_with_others(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        first, second = (frames_of(a_trace(f"run-{uuid.uuid4()}", memory)) for _ in range(2))
        frames: queue.SimpleQueue[pb.RecordRetrievalRunsRequest | None] = queue.SimpleQueue()
        answers = history.RecordRetrievalRuns(iter(frames.get, None), timeout=TIMEOUT_SECONDS)
        frames.put(first[0])
        self.wait_for_state(history, first[0].run_id, pb.RetrievalRun.STATE_RUNNING)
        for pair in zip([*first[1:], None], second, strict=True):
            for frame in filter(None, reversed(pair)):
                frames.put(frame)
        assert {next(answers).run_id, next(answers).run_id} == {first[0].run_id, second[0].run_id}
        frames.put(None)
        assert list(answers) == []

    def test_counts_and_digest_that_do_not_fit_are_refused(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        for change in ({"candidate_count": 3}, {"candidates_digest": "0" * 64}):
            frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
            for name, value in change.items():
                setattr(frames[-1].finished, name, value)
            assert [outcome(answer) for answer in record(history, frames)] == ["FIELD_INVALID"]

    def test_a_stream_that_ends_before_the_last_frame_records_nothing_whatever_its_end_looked_like(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        for ends_well in (True, False):
            frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
            self.cut(history, frames[:-1], ends_well)
            assert self.state(history, frames[0].run_id) != pb.RetrievalRun.STATE_SUCCEEDED
            assert [outcome(answer) for answer in record(history, frames)] == ["recorded"], "healed by its whole trace"
            assert self.state(history, frames[0].run_id) == pb.RetrievalRun.STATE_SUCCEEDED

    def test_a_run_that_was_never_finished_fails_after_a_time_and_is_healed_by_its_whole_trace(
        self, history: HistoryServiceStub, memory: EffectiveMemory
    ) -> None:
        frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
        self.cut(history, frames[:-1], ends_well=True)
        self.wait_for_state(history, frames[0].run_id, pb.RetrievalRun.STATE_FAILED)
        assert [outcome(answer) for answer in record(history, frames)] == ["recorded"]
        assert self.state(history, frames[0].run_id) == pb.RetrievalRun.STATE_SUCCEEDED

    def cut(self, history: HistoryServiceStub, frames: list[Any], ends_well: bool) -> None:
        def sent() -> Iterator[Any]:
            yield from frames
            if not ends_well:
                time.sleep(0.2)
                raise ValueError("the sender breaks")

        try:
            assert list(history.RecordRetrievalRuns(sent(), timeout=TIMEOUT_SECONDS)) == []
        except grpc.RpcError:
            assert not ends_well

    def wait_for_state(self, history: HistoryServiceStub, run_id: str, state: Any) -> None:
        until = time.monotonic() + 5.0 + self.interrupted_seconds
        found = None
        while found != state and time.monotonic() < until:
            found = self.state(history, run_id)
            time.sleep(0.02)
        assert found == state

    def test_a_corpus_asks_for_each_missing_body_once_in_order_and_not_again(self, history: HistoryServiceStub) -> None:
        unique = uuid.uuid4()
        bodies = {"a": f"a {unique}", "b": f"b {unique}", "c": f"a {unique}", "empty": ""}
        memory = a_new_memory(bodies)
        by_digest = {digest_of(body.encode()): body.encode() for body in bodies.values()}
        stream = Put(history)
        missing = stream.manifest(memory)
        assert missing == sorted(set(missing))
        assert set(by_digest) - {digest_of(b"")} <= set(missing) <= set(by_digest)
        for digest in missing:
            body = by_digest[digest]
            stream.parts((digest, 0, body[:3]))
            if body[3:]:
                stream.parts((digest, 3, body[3:]))
        assert stream.stored().effective_memory_hash == memory.hash
        assert stream.manifest(memory) == []
        assert stream.stored().written_blob_count == 0
        stream.end()

    def test_an_empty_corpus_is_stored(self, history: HistoryServiceStub) -> None:
        put(history, a_new_memory({}), {})

    def test_a_body_of_exactly_one_frame_and_one_of_many_are_stored(self, history: HistoryServiceStub) -> None:
        unique = str(uuid.uuid4())
        bodies = {"one": unique.ljust(1_048_576, "x"), "many": unique.ljust(3_000_001, "y")}
        memory = a_new_memory(bodies)
        by_digest = {digest_of(body.encode()): body.encode() for body in bodies.values()}
        stream = Put(history)
        for digest in stream.manifest(memory):
            body = by_digest[digest]
            for offset in range(0, len(body), 1_048_576):
                stream.parts((digest, offset, body[offset : offset + 1_048_576]))
        assert stream.stored().written_blob_count == 2
        stream.end()

    def test_bytes_that_are_not_their_digest_end_the_stream_and_store_nothing(
        self, history: HistoryServiceStub
    ) -> None:
        bodies = {"guide.md": f"Guide {uuid.uuid4()}"}
        memory = a_new_memory(bodies)
        stream = Put(history)
        (digest,) = stream.manifest(memory)
        stream.parts((digest, 0, bytes(len(bodies["guide.md"]))))
        with pytest.raises(grpc.RpcError) as raised:
            stream.stored()
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        frames = frames_of(a_trace(f"run-{uuid.uuid4()}", memory))
        assert [outcome(answer) for answer in record(history, frames)] == ["CORPUS_NOT_FOUND"]

    def test_a_manifest_that_is_not_its_hash_is_refused(self, history: HistoryServiceStub) -> None:
        memory = a_new_memory({"guide.md": "Guide"})
        false = EffectiveMemory(memory.project_id, memory.resources, "0" * 64)
        with pytest.raises(grpc.RpcError) as raised:
            Put(history).manifest(false)
        assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT

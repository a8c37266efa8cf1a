"""The edge: health, reflection, limits, errors that stay what they are, and who is let in."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_serving.status import MAX_MESSAGE_BYTES, encoded_size
from tests.fakes.history_server import TIMEOUT, HistoryClient, RunningHistory, error_of
from tests.history_builders import a_corpus, a_run, a_start

SERVICES = ("ranktrail.history.v1.HistoryService", "ranktrail.evaluation.v1.EvaluationService")


def _health(channel: grpc.Channel, service: str = "", metadata: Any = ()) -> int:
    stub = health_pb2_grpc.HealthStub(channel)
    return int(stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5, metadata=metadata).status)


def test_health_answers_for_each_service_and_for_all(history: RunningHistory) -> None:
    for service in ("", *SERVICES):
        assert _health(history.channel, service) == health_pb2.HealthCheckResponse.SERVING


def test_reflection_lists_the_services(history: RunningHistory) -> None:
    stub = reflection_pb2_grpc.ServerReflectionStub(history.channel)
    request = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = stub.ServerReflectionInfo(iter([request]), timeout=TIMEOUT)
    assert set(SERVICES) <= {service.name for service in answer.list_services_response.service}


def test_runtime_says_what_the_process_is(history: RunningHistory) -> None:
    history.record(a_run())
    runtime = history.runtime()
    assert (runtime.version, runtime.contract_version, runtime.schema_version) == ("0.1.0", "v1.0", 18)
    assert runtime.data_dir == str(history.data_dir)
    assert len(runtime.instance_id) == 32
    assert runtime.start_time.seconds > 0
    assert runtime.database_bytes > 0
    assert (runtime.run_count, runtime.running_run_count, runtime.write_failure_count) == (1, 0, 0)
    assert runtime.change_sequence == history.get().run.change_sequence


@pytest.mark.parametrize("text", ["x" * 512, "票" * 170, "%" * 512, "\n" * 512, "\x7f" * 512])
def test_a_long_error_keeps_its_code_and_its_message_is_cut_between_characters(
    history: RunningHistory, text: str
) -> None:
    history.record(a_run())
    for _ in range(50):
        request = pb.ReadRunResourceRequest(run_id="run-1", resource_id=text)
        with pytest.raises(grpc.RpcError) as error:
            list(history.history.ReadRunResource(request, timeout=TIMEOUT))
        code, reason, _metadata = error_of(error.value)
        assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "RESOURCE_NOT_FOUND")
        assert sum(map(encoded_size, error.value.details())) <= MAX_MESSAGE_BYTES
        assert "\ufffd" not in error.value.details()


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b"\x0a\x03\xed\xa0\xbd", "run_id"),
        (b"\x0a\x40x", "GetRetrievalRunRequest"),
        (b"\xff", "GetRetrievalRunRequest"),
    ],
)
def test_bytes_that_are_no_request_are_the_callers_fault_and_the_field_is_named(
    history: RunningHistory, raw: bytes, field: str
) -> None:
    call = history.channel.unary_unary("/ranktrail.history.v1.HistoryService/GetRetrievalRun")
    with pytest.raises(grpc.RpcError) as error:
        call(raw, timeout=TIMEOUT)
    assert error_of(error.value) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID", {"field": field})


def test_a_message_of_four_mebibytes_passes_and_one_byte_more_does_not(history: RunningHistory) -> None:
    """The limit is the receiver's; frames of at most 1 MiB stay far below it."""
    call = history.channel.unary_unary("/ranktrail.history.v1.HistoryService/GetRetrievalRun")
    padding = b"\x7a" + b"\xfb\xff\xff\x01"  # field 15, which nobody knows, of 4,194,299 bytes
    with pytest.raises(grpc.RpcError) as error:
        call(padding + bytes(4_194_299), timeout=TIMEOUT)
    assert error_of(error.value)[2] == {"field": "run_id", "limit": "128"}
    with pytest.raises(grpc.RpcError) as error:
        call(b"\x7a\xfc\xff\xff\x01" + bytes(4_194_300), timeout=TIMEOUT)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def _hold_recorders(history: RunningHistory, count: int) -> tuple[list[Any], list[SimpleQueue[Any]]]:
    queues: list[SimpleQueue[Any]] = [SimpleQueue() for _ in range(count)]
    calls = [history.history.RecordRetrievalRuns(iter(frames.get, None), timeout=TIMEOUT) for frames in queues]
    for number, frames in enumerate(queues):
        for frame in a_run(f"held-{number}"):
            frames.put(frame)
    for call in calls:
        next(call)
    return calls, queues


def test_with_every_long_call_taken_the_next_is_overloaded_at_once_and_the_rest_is_served(
    history: RunningHistory,
) -> None:
    recorders, queues = _hold_recorders(history, 8)
    watches = [history.history.WatchRetrievalRuns(pb.WatchRetrievalRunsRequest()) for _ in range(16)]
    uploads = []
    for n in range(4):
        frames: SimpleQueue[Any] = SimpleQueue()
        for frame in a_corpus({"a": f"body {n}".encode()}).manifest_frames():
            frames.put(frame)
        queues.append(frames)
        uploads.append(history.history.PutCorpus(iter(frames.get, None)))
    for call in (*watches, *uploads):
        next(call)
    one_too_many = [
        lambda: next(history.history.RecordRetrievalRuns(iter([a_start()]), timeout=5)),
        lambda: next(history.history.WatchRetrievalRuns(pb.WatchRetrievalRunsRequest(), timeout=5)),
        lambda: next(history.history.PutCorpus(iter([]), timeout=5)),
    ]
    for call in one_too_many:
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert error_of(error.value)[:2] == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    assert _health(history.channel) == health_pb2.HealthCheckResponse.SERVING
    assert history.runtime().recorder_count == 8
    for call in (*watches, *uploads, *recorders):
        call.cancel()
    for frames in queues:
        frames.put(None)


def test_health_answers_while_calls_of_every_kind_press_in(history: RunningHistory) -> None:
    history.record([frame for n in range(30) for frame in a_run(f"run-{n}")])
    over = threading.Event()
    refused: list[str] = []

    def press() -> None:
        while not over.is_set():
            try:
                history.list(page_size=100)
            except grpc.RpcError as error:
                refused.append(error_of(error)[1])

    threads = [threading.Thread(target=press) for _ in range(30)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert _health(history.channel) == health_pb2.HealthCheckResponse.SERVING
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert set(refused) <= {"OVERLOADED"}


@pytest.fixture
def tcp(tmp_path: Path) -> Iterator[RunningHistory]:
    running = RunningHistory(tmp_path / "data", "--address", "127.0.0.1:0")
    yield running
    running.close()


def test_a_tcp_call_needs_the_token_of_this_data_directory(tcp: RunningHistory) -> None:
    token_file = tcp.data_dir / "run" / "token"
    assert token_file.stat().st_mode & 0o777 == 0o600
    token = token_file.read_text().strip()
    request = pb.GetRuntimeRequest()
    wrong = hashlib.sha256(token.encode()).hexdigest()
    for metadata, reason in [
        ((), "TOKEN_MISSING"),
        ((("authorization", token),), "TOKEN_MISSING"),
        ((("authorization", f"Bearer {wrong}"),), "TOKEN_INVALID"),
        ((("authorization", "Bearer "),), "TOKEN_INVALID"),
    ]:
        with pytest.raises(grpc.RpcError) as error:
            tcp.history.GetRuntime(request, timeout=TIMEOUT, metadata=metadata)
        assert error_of(error.value)[:2] == (grpc.StatusCode.UNAUTHENTICATED, reason)
        with pytest.raises(grpc.RpcError) as error:
            list(tcp.history.RecordRetrievalRuns(iter([a_start()]), timeout=TIMEOUT, metadata=metadata))
        assert error_of(error.value)[1] == reason
    right = (("authorization", f"Bearer {token}"),)
    assert tcp.history.GetRuntime(request, timeout=TIMEOUT, metadata=right).run_count == 0


def test_the_token_stays_the_same_at_the_next_start(tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        running = RunningHistory(tmp_path / "data", "--address", "127.0.0.1:0")
        tokens.append((tmp_path / "data" / "run" / "token").read_text())
        running.close()
    assert tokens[0] == tokens[1] != ""


def test_a_socket_needs_no_token(history: RunningHistory) -> None:
    other = HistoryClient(history.service.target)
    assert other.runtime().instance_id == history.runtime().instance_id
    other.close()

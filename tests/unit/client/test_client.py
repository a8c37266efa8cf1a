"""The client against services on real sockets."""

import multiprocessing
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from ranktrail.evaluation.v1 import evaluation_service_pb2
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.address import Address, Reach
from ranktrail_client.attempts import Attempts
from ranktrail_client.client import Client
from ranktrail_client.data_directory import resolve_data_directory, socket_address
from ranktrail_client.endpoint import Endpoint
from ranktrail_client.errors import (
    NoAnswer,
    Overloaded,
    ProjectNotFound,
    RanktrailError,
    Refused,
    ServiceUnreachable,
)
from ranktrail_client.evaluation import AsyncEvaluationCalls, EvaluationCalls, EvaluationMethods
from ranktrail_client.frames import MAX_FRAME_BYTES, commit_frames, digest_of
from ranktrail_client.history import AsyncHistoryCalls, HistoryCalls, HistoryMethods
from ranktrail_client.link import Link
from ranktrail_client.method import Method
from ranktrail_client.methods import Exchange, Stream, Unary, Upload
from ranktrail_client.paging import pages
from ranktrail_client.ranker import AsyncRankerCalls, RankerCalls, RankerMethods
from tests.fakes.services import PAGE_SIZE, FakeHistory, FakeRanker, served

PROJECT_HEADER = ranker_pb2.CommitHeader(
    project_id="p", layer=trace_pb2.LAYER_PROJECT, mode=ranker_pb2.CommitHeader.MODE_PATCH
)


TABLES = [
    (ranker_pb2, "RankerService", RankerMethods, RankerCalls, AsyncRankerCalls),
    (history_pb2, "HistoryService", HistoryMethods, HistoryCalls, AsyncHistoryCalls),
    (evaluation_service_pb2, "EvaluationService", EvaluationMethods, EvaluationCalls, AsyncEvaluationCalls),
]
KINDS = {(False, False): Unary, (False, True): Stream, (True, False): Upload, (True, True): Exchange}


@pytest.mark.parametrize(("contract", "service", "table", "calls", "async_calls"), TABLES)
def test_each_method_of_a_contract_stands_once_in_its_table_as_the_contract_says(
    contract: Any, service: str, table: type, calls: type, async_calls: type
) -> None:
    descriptor = contract.DESCRIPTOR.services_by_name[service]
    held = {method.path: method for method in vars(table).values() if isinstance(method, Method)}
    assert set(held) == {f"/{descriptor.full_name}/{method.name}" for method in descriptor.methods}
    for said in descriptor.methods:
        method = held[f"/{descriptor.full_name}/{said.name}"]
        assert type(method) is KINDS[said.client_streaming, said.server_streaming]
        assert method.request_type.DESCRIPTOR is said.input_type
        assert method.response_type.DESCRIPTOR is said.output_type
    for group in (calls, async_calls):
        assert not [member for member in vars(group).values() if callable(member)], "a call outside the table"


WRITES = {
    "activate_memory", "commit_memory", "rank_corpus", "clear_project_storage", "delete_project",
    "record_retrieval_runs", "put_corpus", "clear_retrieval_runs",
    "create_evaluation_case", "delete_evaluation_case", "import_evaluation_set",
}  # fmt: skip


def test_what_is_repeated_is_a_read_or_carries_a_request_id() -> None:
    methods = {name: method for _, _, table, _, _ in TABLES for name, method in vars(table).items()}
    never = {name for name, method in methods.items() if isinstance(method, Method) and not method.repeats}
    assert never == WRITES
    assert "request_id" in evaluation_service_pb2.ReplaceEvaluationJudgmentsRequest.DESCRIPTOR.fields_by_name


def resource(path: str) -> ranker_pb2.ResourceHeader:
    return ranker_pb2.ResourceHeader(resource_id=path, path=path)


def test_a_commit_travels_in_frames_of_a_mebibyte_and_says_what_it_held(tmp_path: Path) -> None:
    ranker, body = FakeRanker(), os.urandom(2 * MAX_FRAME_BYTES + 5)
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client:
        client.ranker.commit_memory(commit_frames(PROJECT_HEADER, [(resource("a.md"), body)]))
    frames = ranker.commits[0]
    sent = [frame.body for frame in frames if frame.HasField("body")]
    assert [len(part) for part in sent] == [MAX_FRAME_BYTES, MAX_FRAME_BYTES, 5]
    assert b"".join(sent) == body
    assert (frames[1].resource.size_bytes, frames[1].resource.digest) == (len(body), digest_of(body))
    assert (frames[-1].end.resource_count, frames[-1].end.deletion_count) == (1, 0)


def test_every_page_is_turned_and_the_request_stays_as_it_was(tmp_path: Path) -> None:
    request = ranker_pb2.GetEffectiveMemoryRequest(project_id="p")
    names = [f"{i}.md" for i in range(2 * PAGE_SIZE + 1)]
    with served(tmp_path, FakeRanker(), None), Client.connect(tmp_path) as client:
        client.ranker.commit_memory(commit_frames(PROJECT_HEADER, [(resource(name), b"x") for name in names]))
        turned = list(pages(client.ranker.get_effective_memory, request))
    assert len(turned) == 3
    assert [one.path for page in turned for one in page.resources] == names
    assert request == ranker_pb2.GetEffectiveMemoryRequest(project_id="p")


def test_a_read_is_repeated_while_the_service_cannot_be_reached(tmp_path: Path) -> None:
    ranker = FakeRanker(unavailable=2)
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client, pytest.raises(ProjectNotFound):
        client.ranker.get_effective_memory(ranker_pb2.GetEffectiveMemoryRequest(project_id="p"))
    assert ranker.calls == 3


def test_a_refused_read_is_not_repeated(tmp_path: Path) -> None:
    ranker = FakeRanker()
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client, pytest.raises(ProjectNotFound):
        client.ranker.get_effective_memory(ranker_pb2.GetEffectiveMemoryRequest(project_id="p"))
    assert ranker.calls == 1


def test_a_read_gives_up_after_its_attempts_and_names_address_and_fix(tmp_path: Path) -> None:
    with Client.connect(tmp_path) as client, pytest.raises(ServiceUnreachable) as caught:
        client.ranker.get_runtime()
    assert "ranktrail up" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


class GoingRanker(FakeRanker):
    """Takes an activation and cannot be reached any more."""

    def ActivateMemory(self, request: Any, context: Any) -> ranker_pb2.ActivateMemoryResponse:  # noqa: N802
        self.activations.append(request)
        context.abort(grpc.StatusCode.UNAVAILABLE, "going")
        raise AssertionError("abort raises")


def test_an_activation_is_never_repeated(tmp_path: Path) -> None:
    ranker = GoingRanker()
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client, pytest.raises(ServiceUnreachable):
        client.ranker.activate_memory(ranker_pb2.ActivateMemoryRequest(project_id="p", query="q"))
    assert len(ranker.activations) == 1


def test_a_peer_that_accepts_and_stays_silent_is_no_answer_within_the_deadline(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "run" / "ranker.sock"))
        listener.listen()
        with Client.connect(tmp_path) as client, pytest.raises(NoAnswer):
            client.ranker.get_runtime(timeout=0.3)


class Ending(grpc.RpcError):
    """What a call ends with that gRPC itself gave up."""

    def __init__(self, details: str) -> None:
        super().__init__()
        self._details = details

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[()]:
        return ()


NOWHERE = Endpoint("ranker", Address.parse("unix:/nowhere"))


def delays_of(attempts: Attempts[Any, Any], error: RanktrailError) -> list[float]:
    """What a call that always ends with `error` waits before each further attempt."""
    delays: list[float] = []
    try:
        while True:
            delays.append(attempts.delay_after(error))
    except type(error):
        return delays


@pytest.mark.parametrize(
    ("details", "repeats"), [("connection attempt timed out", 0), ("connect: connection refused", 3)]
)
def test_only_a_service_that_is_not_there_is_asked_again(details: str, repeats: int) -> None:
    attempts = Attempts(RankerCalls.list_profiles, None, 30.0)
    assert len(delays_of(attempts, NOWHERE.decoded(Ending(details)))) == repeats


def test_all_attempts_of_a_read_share_one_deadline() -> None:
    attempts = Attempts(RankerCalls.list_profiles, None, 0.25)
    assert delays_of(attempts, ServiceUnreachable("")) == [0.1, 0.2]


def test_a_call_waits_no_longer_than_its_deadline_between_attempts(tmp_path: Path) -> None:
    waited: list[float] = []

    def sleep(delay: float) -> None:
        waited.append(delay)
        time.sleep(delay)

    link = Link(Endpoint("ranker", Address.parse(f"unix:{tmp_path}/nothing")), sleep)
    with pytest.raises(ServiceUnreachable):
        RankerCalls(link).list_profiles(timeout=0.25)
    link.close()
    assert waited == [0.1]


def test_an_overloaded_service_is_asked_again_when_it_said_and_a_write_is_not() -> None:
    overloaded = Overloaded("later", metadata={"retry_after_ms": "250"})
    assert delays_of(Attempts(RankerCalls.list_profiles, None, 30.0), overloaded) == [0.25, 0.25, 0.4]
    assert delays_of(Attempts(RankerCalls.delete_project, None, 30.0), overloaded) == []
    assert delays_of(Attempts(RankerCalls.list_profiles, None, 30.0), Overloaded("an export took too long")) == []


def test_what_stops_an_upload_reaches_its_caller_as_it_is(tmp_path: Path) -> None:
    def frames() -> Iterator[ranker_pb2.CommitMemoryRequest]:
        yield ranker_pb2.CommitMemoryRequest(header=PROJECT_HEADER)
        raise LookupError("the file is gone")

    ranker = FakeRanker()
    gone = pytest.raises(LookupError, match="the file is gone")
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client, gone:
        client.ranker.commit_memory(frames())
    assert not ranker.layers


def test_a_stream_yields_what_comes_and_its_error_is_typed(tmp_path: Path) -> None:
    with served(tmp_path, FakeRanker(), None), Client.connect(tmp_path) as client:
        with pytest.raises(ProjectNotFound):
            list(client.ranker.ensure_index(ranker_pb2.EnsureIndexRequest(project_id="p")))
        client.ranker.commit_memory(commit_frames(PROJECT_HEADER))
        phases = [one.phase for one in client.ranker.ensure_index(ranker_pb2.EnsureIndexRequest(project_id="p"))]
    assert phases == ["encode", "ready"]


def test_a_broken_watch_goes_on_where_it_ended(tmp_path: Path) -> None:
    runs = [history_pb2.GetRetrievalRunResponse(run=history_pb2.RetrievalRun(run_id=f"R{i}")) for i in range(3)]
    history = FakeHistory(runs=runs, watch_breaks=2)
    with served(tmp_path, None, history), Client.connect(tmp_path) as client:
        request = history_pb2.WatchRetrievalRunsRequest(after_change_sequence=0)
        seen = [change.run.run_id for change in client.history.watch_retrieval_runs(request) if change.HasField("run")]
    assert seen == ["R0", "R1", "R2"]
    assert history.watched_after == [0, 1, 2]


def test_calls_from_many_threads_each_get_their_own_answer(tmp_path: Path) -> None:
    with served(tmp_path, FakeRanker(), None), Client.connect(tmp_path) as client:
        answers: list[str] = []
        call = lambda: answers.append(client.ranker.list_profiles().profiles[0].source)  # noqa: E731
        threads = [threading.Thread(target=call) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["package"] * 16


def _call_after_fork(client: Client, answer: Any) -> None:
    try:
        client.ranker.list_profiles()
    except RuntimeError as error:
        answer.put(str(error))


def test_a_client_carried_over_a_fork_says_so_instead_of_hanging(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    with Client.connect(tmp_path) as client:
        process = context.Process(target=_call_after_fork, args=(client, answer))
        process.start()
        assert "fork" in answer.get(timeout=20)
        process.join(20)


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("unix:/tmp/x.sock", Reach.SOCKET),
        ("unix:///tmp/x.sock", Reach.SOCKET),
        ("localhost:80", Reach.LOOPBACK),
        ("127.9.9.9:65535", Reach.LOOPBACK),
        ("[::1]:5000", Reach.LOOPBACK),
        ("192.0.2.1:5000", Reach.REMOTE),
        ("example.com:443", Reach.REMOTE),
        ("localhost.example.com:443", Reach.REMOTE),
        ("0.0.0.0:443", Reach.REMOTE),
    ],
)
def test_an_address_says_how_far_it_reaches(text: str, reach: Reach) -> None:
    assert Address.parse(text).reach is reach


@pytest.mark.parametrize(
    "text", ["", "x", "dns:///x:1", "host:0", "host:65536", "host:1\n", "http://x:1", "a b:1", "h:\uff11"]
)
def test_what_is_no_address_is_refused_with_both_forms_named(text: str) -> None:
    with pytest.raises(Refused, match="unix:/path nor host:port"):
        Address.parse(text)


def test_a_socket_path_longer_than_a_socket_takes_is_refused_before_any_call() -> None:
    Address.parse("unix:/" + "x" * 106)
    with pytest.raises(Refused, match="107"):
        Address.parse("unix:/" + "x" * 107)


def test_nothing_leaves_this_machine_unless_allowed(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="allow_remote=True"):
        Client.connect(tmp_path, ranker="192.0.2.1:5000")
    Client.connect(tmp_path, ranker="192.0.2.1:5000", allow_remote=True).close()


@pytest.mark.parametrize("name", ["plain", "a b", "a%20b", "a?b", "a#b", "é", "東", "a:b"])
def test_a_data_directory_of_any_name_is_reached(tmp_path: Path, name: str) -> None:
    with served(tmp_path / name, FakeRanker(), None), Client.connect(tmp_path / name) as client:
        assert client.ranker.check_health()
    assert not [path for path in tmp_path.iterdir() if path.name != name]


def test_the_data_directory_is_the_one_given_else_the_variable_else_the_platform_s(tmp_path: Path) -> None:
    assert resolve_data_directory(tmp_path, {"RANKTRAIL_HOME": "/other"}) == tmp_path
    assert resolve_data_directory(None, {"RANKTRAIL_HOME": str(tmp_path)}) == tmp_path
    assert resolve_data_directory(None, {"RANKTRAIL_HOME": ""}).name == "ranktrail"
    assert resolve_data_directory("relative", {}) == Path.cwd() / "relative"
    assert socket_address(tmp_path, "ranker").startswith("unix:/")


def test_a_tcp_call_carries_the_token_of_the_data_directory_and_a_socket_call_none(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "token").write_text("secret\n")
    with Client.connect(tmp_path, ranker="127.0.0.1:1") as client:
        assert client.ranker.link.endpoint.metadata == (("authorization", "Bearer secret"),)
        assert client.history.link.endpoint.metadata == ()

"""The client for coroutines, against services on real sockets: what it does is what the waiting client does."""

import asyncio
import multiprocessing
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail.ranker.v1 import ranker_service_pb2_grpc as ranker_grpc
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client import AsyncClient, Client, async_pages, commit_frames
from ranktrail_client.certificates import Certificates
from ranktrail_client.errors import FieldInvalid, NoAnswer, ProjectNotFound, Refused, ServiceUnreachable
from ranktrail_client.run_delivery import async_delivered
from tests.fakes.services import PAGE_SIZE, FakeHistory, FakeRanker, served
from tests.unit.cli.running import a_run

Answer = TypeVar("Answer")
PROJECT_HEADER = ranker_pb2.CommitHeader(
    project_id="p", layer=trace_pb2.LAYER_PROJECT, mode=ranker_pb2.CommitHeader.MODE_PATCH
)


def asked(data_dir: Path, call: Callable[[AsyncClient], Awaitable[Answer]]) -> Answer:
    """What a coroutine makes of a client of a data directory."""

    async def ask() -> Answer:
        async with AsyncClient.connect(data_dir) as client:
            return await asyncio.wait_for(call(client), 30)

    return asyncio.run(ask())


def resource(path: str) -> ranker_pb2.ResourceHeader:
    return ranker_pb2.ResourceHeader(resource_id=path, path=path)


def test_frames_travel_from_a_plain_and_from_an_asynchronous_source(tmp_path: Path) -> None:
    async def one_by_one(frames: Iterator[ranker_pb2.CommitMemoryRequest]) -> AsyncIterator[Any]:
        for frame in frames:
            await asyncio.sleep(0)
            yield frame

    async def commit(client: AsyncClient) -> None:
        await client.ranker.commit_memory(commit_frames(PROJECT_HEADER, [(resource("a.md"), b"x")]))
        await client.ranker.commit_memory(one_by_one(commit_frames(PROJECT_HEADER, [(resource("b.md"), b"y")])))

    ranker = FakeRanker()
    with served(tmp_path, ranker, None):
        asked(tmp_path, commit)
    assert sorted(ranker.layers["p", trace_pb2.LAYER_PROJECT]) == ["a.md", "b.md"]


def test_what_stops_an_upload_reaches_its_caller_as_it_is(tmp_path: Path) -> None:
    def frames() -> Iterator[ranker_pb2.CommitMemoryRequest]:
        yield ranker_pb2.CommitMemoryRequest(header=PROJECT_HEADER)
        raise LookupError("the file is gone")

    ranker = FakeRanker()
    with served(tmp_path, ranker, None), pytest.raises(LookupError, match="the file is gone"):
        asked(tmp_path, lambda client: client.ranker.commit_memory(frames()))
    assert not ranker.layers


def test_every_page_is_turned_and_the_request_stays_as_it_was(tmp_path: Path) -> None:
    request = ranker_pb2.GetEffectiveMemoryRequest(project_id="p")
    names = [f"{i}.md" for i in range(2 * PAGE_SIZE + 1)]

    async def turn(client: AsyncClient) -> list[ranker_pb2.GetEffectiveMemoryResponse]:
        await client.ranker.commit_memory(commit_frames(PROJECT_HEADER, [(resource(name), b"x") for name in names]))
        return [page async for page in async_pages(client.ranker.get_effective_memory, request)]

    with served(tmp_path, FakeRanker(), None):
        turned = asked(tmp_path, turn)
    assert len(turned) == 3
    assert [one.path for page in turned for one in page.resources] == names
    assert request == ranker_pb2.GetEffectiveMemoryRequest(project_id="p")


def test_a_read_is_repeated_while_the_service_cannot_be_reached_and_its_error_is_typed(tmp_path: Path) -> None:
    ranker = FakeRanker(unavailable=2)
    request = ranker_pb2.GetEffectiveMemoryRequest(project_id="p")
    with served(tmp_path, ranker, None), pytest.raises(ProjectNotFound) as caught:
        asked(tmp_path, lambda client: client.ranker.get_effective_memory(request))
    assert ranker.calls == 3
    assert caught.value.metadata == {"project_id": "p"}
    assert (caught.value.reason, caught.value.code) == ("PROJECT_NOT_FOUND", grpc.StatusCode.NOT_FOUND)


def test_both_clients_raise_the_same_error(tmp_path: Path) -> None:
    request = ranker_pb2.ActivateMemoryRequest(project_id="p", query=" ")
    with served(tmp_path, FakeRanker(), None):
        with Client.connect(tmp_path) as client, pytest.raises(FieldInvalid) as waited:
            client.ranker.activate_memory(request)
        with pytest.raises(FieldInvalid) as awaited:
            asked(tmp_path, lambda client: client.ranker.activate_memory(request))
    assert vars(awaited.value) == vars(waited.value)
    assert str(awaited.value) == str(waited.value)


def test_a_service_that_is_not_there_is_named_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ServiceUnreachable, match="ranktrail up"):
        asked(tmp_path, lambda client: client.ranker.get_runtime())


def test_a_peer_that_accepts_and_stays_silent_is_no_answer_within_the_deadline(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "run" / "ranker.sock"))
        listener.listen()
        with pytest.raises(NoAnswer):
            asked(tmp_path, lambda client: client.ranker.get_runtime(timeout=0.3))


def test_a_stream_yields_what_comes_and_its_error_is_typed(tmp_path: Path) -> None:
    async def phases(client: AsyncClient, project: str) -> list[str]:
        request = ranker_pb2.EnsureIndexRequest(project_id=project)
        return [step.phase async for step in client.ranker.ensure_index(request)]

    ranker = FakeRanker(layers={("p", trace_pb2.LAYER_PROJECT): {}})
    with served(tmp_path, ranker, None):
        assert asked(tmp_path, lambda client: phases(client, "p")) == ["encode", "ready"]
        with pytest.raises(ProjectNotFound):
            asked(tmp_path, lambda client: phases(client, "q"))


def test_a_watch_that_broke_goes_on_where_it_ended(tmp_path: Path) -> None:
    async def watch(client: AsyncClient) -> list[str]:
        changes = client.history.watch_retrieval_runs(history_pb2.WatchRetrievalRunsRequest(after_change_sequence=0))
        return [change.run.run_id async for change in changes if change.HasField("run")]

    history = FakeHistory(runs=[a_run("A"), a_run("B"), a_run("C")], watch_breaks=2)
    with served(tmp_path, None, history):
        assert asked(tmp_path, watch) == ["A", "B", "C"]
    assert history.watched_after == [0, 1, 2]


def test_many_calls_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    async def ask(client: AsyncClient) -> list[str]:
        answers = await asyncio.gather(*(client.ranker.list_profiles() for _ in range(16)))
        return [answer.profiles[0].source for answer in answers]

    with served(tmp_path, FakeRanker(), None):
        assert asked(tmp_path, ask) == ["package"] * 16


def test_a_task_that_is_cancelled_ends_its_call(tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()

    class SlowRanker(FakeRanker):
        def GetRuntime(self, request: Any, context: Any) -> ranker_pb2.GetRuntimeResponse:  # noqa: N802
            context.add_callback(ended.set)
            begun.set()
            ended.wait(20)
            return ranker_pb2.GetRuntimeResponse()

    async def cancel(client: AsyncClient) -> None:
        call = asyncio.create_task(client.ranker.get_runtime())
        await asyncio.to_thread(begun.wait, 20)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(ended.wait, 20), "the service still works for nobody"

    with served(tmp_path, SlowRanker(), None):
        asked(tmp_path, cancel)


def test_what_history_gets_late_is_waited_for_while_a_ranker_has_it(tmp_path: Path) -> None:
    async def find(client: AsyncClient, seen: list[int]) -> str | None:
        async def later() -> str | None:
            seen.append(1)
            return "found" if len(seen) == 3 else None

        return await async_delivered(client, later)

    with served(tmp_path, FakeRanker(pending_run_count=1), None):
        assert asked(tmp_path, lambda client: find(client, [])) == "found"
    assert asked(tmp_path, lambda client: find(client, [])) is None


def _call_after_fork(client: AsyncClient, answer: Any) -> None:
    try:
        client.ranker.list_profiles().send(None)
    except RuntimeError as error:
        answer.put(str(error))


def test_a_client_carried_over_a_fork_says_so_instead_of_hanging(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answer = context.Queue()

    async def fork(client: AsyncClient) -> str:
        process = context.Process(target=_call_after_fork, args=(client, answer))
        process.start()
        said: str = await asyncio.to_thread(answer.get, timeout=20)
        process.join(20)
        return said

    assert "fork" in asked(tmp_path, fork)


def test_nothing_leaves_this_machine_unless_allowed(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="allow_remote=True"):
        AsyncClient.connect(tmp_path, ranker="192.0.2.1:5000")


class GuardedRanker(FakeRanker):
    """Answers with the token that a call carried."""

    def ListProfiles(self, request: Any, context: Any) -> ranker_pb2.ListProfilesResponse:  # noqa: N802
        carried = dict(context.invocation_metadata()).get("authorization", "")
        return ranker_pb2.ListProfilesResponse(profiles=[ranker_pb2.Profile(source=carried)])


@contextmanager
def encrypted(folder: Path) -> Iterator[tuple[str, bytes]]:
    """A ranker on a port of loopback over TLS: its address and certificate."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*made, *names, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    server = grpc.server(futures.ThreadPoolExecutor(2))
    ranker_grpc.add_RankerServiceServicer_to_server(GuardedRanker(), server)
    pair = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    port = server.add_secure_port("localhost:0", pair)
    server.start()
    try:
        yield f"localhost:{port}", certificate.read_bytes()
    finally:
        server.stop(0).wait()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on PATH to make a certificate")
def test_both_clients_speak_tls_and_carry_the_token(tmp_path: Path) -> None:
    async def ask(address: str, certificates: Certificates) -> str:
        connect = AsyncClient.connect(tmp_path, ranker=address, token="t", certificates=certificates)  # noqa: S106
        async with connect as client:
            return (await client.ranker.list_profiles()).profiles[0].source

    with encrypted(tmp_path) as (address, certificate):
        certificates = Certificates(authority=certificate)
        assert asyncio.run(ask(address, certificates)) == "Bearer t"
        with Client.connect(tmp_path, ranker=address, token="t", certificates=certificates) as client:  # noqa: S106
            assert client.ranker.list_profiles().profiles[0].source == "Bearer t"
        with pytest.raises(ServiceUnreachable):
            asyncio.run(ask(address, Certificates()))

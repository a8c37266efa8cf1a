"""The recorder and the real history service."""

import random
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import grpc
import pytest

from ranker_service.domain.resource import EffectiveMemory
from ranker_service.recorder import delivery
from ranker_service.recorder.connection import HistoryTarget
from ranker_service.recorder.sink import Recorder
from ranker_service.recorder.status import RecorderState
from ranker_service.system import SystemClock
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from tests.processes import Service, short_directory
from tests.suites.history_recording import HistoryRecordingSuite
from tests.traces import a_memory, a_trace, write_bodies

BODIES = {"guide.md": "Guide", "faq.md": "Questions", "empty.md": ""}
TIMEOUT_SECONDS = 30.0
SEED = 20_26


class Pair:
    """A history process and a recorder that knows its address."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.history = Service("history_service", directory, ("--retain-runs", "100000"))
        target = HistoryTarget(f"unix:{self.history.socket}")
        self.recorder = Recorder(directory / "ranker" / "spool", target, SystemClock(), random.Random(SEED).random)
        self.sent: list[str] = []

    def register(self, bodies: Mapping[str, str], project_id: str = "project") -> EffectiveMemory:
        memory = a_memory(project_id, bodies)
        self.recorder.corpora.register(memory, write_bodies(self.directory / "memory", bodies))
        return memory

    def run(self, memory: EffectiveMemory, count: int, candidates: int = 5) -> None:
        for _ in range(count):
            trace = a_trace(f"run-{len(self.sent):05d}", memory, candidates)
            self.recorder.started(trace)
            self.recorder.finished(trace)
            self.sent.append(trace.run_id)

    def stub(self) -> HistoryServiceStub:
        assert self.history.channel is not None
        return HistoryServiceStub(self.history.channel)

    def wait_delivered(self, seconds: float = TIMEOUT_SECONDS) -> None:
        until = time.monotonic() + seconds
        while self.recorder.status().pending_run_count:
            assert time.monotonic() < until, self.recorder.status()
            time.sleep(0.01)

    def recorded(self) -> dict[str, pb.RetrievalRun]:
        """Return every Run that history lists, by id; each stands there once."""
        runs: list[pb.RetrievalRun] = []
        token = ""
        while True:
            request = pb.ListRetrievalRunsRequest(page_size=100, page_token=token)
            page = self.stub().ListRetrievalRuns(request, timeout=TIMEOUT_SECONDS)
            runs += page.runs
            token = page.next_page_token
            if not token:
                break
        assert len({run.run_id for run in runs}) == len(runs)
        return {run.run_id: run for run in runs}

    def assert_all_recorded(self, candidates: int = 5) -> None:
        recorded = self.recorded()
        assert sorted(recorded) == self.sent
        for run in recorded.values():
            assert run.state == pb.RetrievalRun.STATE_SUCCEEDED
            assert run.candidate_count == candidates


@pytest.fixture
def pair() -> Iterator[Pair]:
    with short_directory() as directory:
        made = Pair(directory)
        try:
            yield made
        finally:
            made.recorder.close(0.0)
            made.history.kill()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with short_directory() as directory:
        service = Service("history_service", directory, ("--interrupted-grace", "0.3"))
        service.start()
        yield service
        service.kill()


class TestHistoryService(HistoryRecordingSuite):
    interrupted_seconds = 5.0

    @pytest.fixture
    def history(self, service: Service) -> Iterator[HistoryServiceStub]:
        with grpc.insecure_channel(f"unix:{service.socket}") as channel:
            yield HistoryServiceStub(channel)


def test_runs_and_corpora_arrive_whole(pair: Pair) -> None:
    pair.history.start()
    pair.recorder.start()
    memory = pair.register(BODIES)
    pair.run(memory, 40)
    pair.wait_delivered()
    pair.assert_all_recorded()
    page = pair.stub().ListRunResources(pb.ListRunResourcesRequest(run_id="run-00000"), timeout=TIMEOUT_SECONDS)
    assert [resource.digest for resource in page.resources] == [resource.digest for resource in memory.resources]
    request = pb.ReadRunResourceRequest(run_id="run-00000", resource_id="guide.md")
    assert b"".join(part.content for part in pair.stub().ReadRunResource(request, timeout=TIMEOUT_SECONDS)) == b"Guide"


def test_a_history_started_late_gets_runs_of_a_memory_that_was_cleared_meanwhile(pair: Pair) -> None:
    pair.recorder.start()
    pair.run(pair.register(BODIES), 20)
    pair.recorder.corpora.retain("project")
    for path in (pair.directory / "memory").iterdir():
        path.unlink()
    pair.register({})
    pair.history.start()
    pair.wait_delivered()
    pair.assert_all_recorded()


def test_a_history_killed_again_and_again_under_load_gets_every_run_once(pair: Pair) -> None:
    generator = random.Random(SEED)
    pair.history.start()
    pair.recorder.start()
    memory = pair.register(BODIES)
    done = threading.Event()

    def load() -> None:
        while not done.is_set():
            pair.run(memory, 1)
            time.sleep(0.002)

    thread = threading.Thread(target=load)
    thread.start()
    for _ in range(4):
        time.sleep(generator.uniform(0.05, 0.4))
        pair.history.kill()
        pair.history.start()
    done.set()
    thread.join()
    pair.wait_delivered()
    pair.assert_all_recorded()


def test_a_frozen_history_costs_nothing_and_gets_every_run_once_it_thaws(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "FIRST_PATIENCE_SECONDS", 0.5)
    pair.history.start()
    pair.recorder.start()
    memory = pair.register(BODIES)
    pair.run(memory, 5)
    pair.wait_delivered()
    pair.history.send(signal.SIGSTOP)
    begun = time.perf_counter()
    pair.run(memory, 40)
    assert time.perf_counter() - begun < 2.0
    until = time.monotonic() + TIMEOUT_SECONDS
    while pair.recorder.status().state is not RecorderState.WAITING:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert pair.recorder.status().pending_run_count == 40
    pair.history.send(signal.SIGCONT)
    pair.wait_delivered()
    pair.assert_all_recorded()

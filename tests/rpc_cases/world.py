"""Both services as processes, with what the cases of the RPCs call for."""

import contextlib
import hashlib
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation_pb2
from tests import history_cases
from tests.fakes.history_server import HistoryClient
from tests.history_builders import a_failure, a_run
from tests.memories import commit_frames, ensure_index
from tests.processes import Service, Stack, running_stack

TIMEOUT = 60.0
PAGES = {"a.md": "# Pump\n\nThe pump drains the tank.\n"}


@dataclass
class World:
    """Both services, a client of history, and names that nobody used before."""

    stack: Stack
    history: HistoryClient = field(init=False)
    numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.history = HistoryClient(f"unix:{self.stack.history.socket}")

    def new(self, word: str) -> str:
        """Return a name that nobody used."""
        return f"{word}-{next(self.numbers)}"

    @cached_property
    def project(self) -> str:
        """A project whose index is ready, for calls that leave it as it is."""
        return self.new_project()

    def new_project(self) -> str:
        """Return a new project whose index is ready."""
        project_id = self.committed()
        ensure_index(self.stack.ranker_stub, project_id)
        return project_id

    def committed(self) -> str:
        """Return a new project with one page."""
        project_id = self.new("project")
        self.stack.ranker_stub.CommitMemory(commit_frames(project_id, PAGES), timeout=TIMEOUT)
        return project_id

    def run(self, **run: Any) -> str:
        """Return a succeeded Run of three candidates over six bodies."""
        run_id = self.new("run")
        history_cases.record(self.history, run_id, **run)
        return run_id

    def project_of_a_run(self) -> str:
        """Return a project that has a Run, but need not have a memory."""
        project_id = self.new("project")
        self.run(project_id=project_id)
        return project_id

    def failed_run(self) -> str:
        """Return a failed Run."""
        run_id = self.new("run")
        self.history.record(a_run(run_id, candidates=0, failure=a_failure()))
        return run_id

    def case(self, **run: Any) -> evaluation_pb2.EvaluationCase:
        """Return a case of a new Run."""
        return history_cases.create(self.history, self.run(**run))

    def new_body(self) -> dict[str, bytes]:
        """Return the body of one document, which nobody else has, so that it may be damaged."""
        return {"doc-0001": self.new("body").encode()}

    def damage(self, body: bytes) -> None:
        """Flip the first byte of a stored body."""
        name = hashlib.sha256(body).hexdigest()
        path = self.stack.data_dir / "history" / "evaluation-corpora" / "blobs" / name[:2] / name
        path.write_bytes(bytes([body[0] ^ 1]) + body[1:])

    def project_directory(self, project_id: str) -> Path:
        """Return where the ranker keeps a project."""
        name = hashlib.sha256(project_id.encode()).hexdigest()
        return self.stack.data_dir / "ranker" / "projects" / name

    def service_of(self, method: MethodDescriptor) -> Service:
        """Return the process that serves a method."""
        return self.stack.ranker if ".ranker." in method.full_name else self.stack.history

    def begin(self, method: MethodDescriptor, requests: Iterable[Message | bytes], timeout: float = TIMEOUT) -> Any:
        """Begin a call and return it; a request of bytes goes out as it is."""
        channel = self.service_of(method).channel
        assert channel is not None
        path = f"/{method.containing_service.full_name}/{method.name}"
        kinds = (path, _serialized, GetMessageClass(method.output_type).FromString)
        if method.client_streaming and method.server_streaming:
            return channel.stream_stream(*kinds)(iter(requests), timeout=timeout)
        if method.client_streaming:
            return channel.stream_unary(*kinds).future(iter(requests), timeout=timeout)
        (request,) = requests
        if method.server_streaming:
            return channel.unary_stream(*kinds)(request, timeout=timeout)
        return channel.unary_unary(*kinds).future(request, timeout=timeout)

    def call(self, method: MethodDescriptor, requests: Iterable[Message | bytes]) -> list[Any]:
        """Make a call and return every response; raise grpc.RpcError."""
        return responses_of(method, self.begin(method, requests))


def responses_of(method: MethodDescriptor, call: Any) -> list[Any]:
    """Wait for the end of a call and return every response; raise grpc.RpcError."""
    return list(call) if method.server_streaming else [call.result()]


def unending(requests: Iterable[Message], over: "SimpleQueue[None]") -> Iterator[Message]:
    """Yield requests, then wait until somebody puts into `over`."""
    yield from requests
    over.get()


@contextlib.contextmanager
def frozen(service: Service) -> Iterator[None]:
    """Keep a process from running."""
    assert service.process is not None
    service.send(signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, service.process.pid, os.WSTOPPED | os.WNOWAIT)
        yield
    finally:
        service.send(signal.SIGCONT)


@contextlib.contextmanager
def a_world() -> Iterator[World]:
    """Both services, until the end of the block."""
    with running_stack(history=("--interrupted-grace", "0.2")) as stack:
        world = World(stack)
        try:
            yield world
        finally:
            world.history.close()


def _serialized(request: Message | bytes) -> bytes:
    return request if isinstance(request, bytes) else request.SerializeToString()

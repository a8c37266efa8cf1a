"""The real services as processes, for tests: started in a short directory, since a socket path has a limit."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ranktrail.evaluation.v1 import evaluation_service_pb2_grpc
from ranktrail.history.v1 import history_service_pb2_grpc
from ranktrail.ranker.v1 import ranker_service_pb2_grpc

START_SECONDS = 60.0


@dataclass
class Service:
    """One service process."""

    module: str
    data_dir: Path
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    channel: grpc.Channel | None = None

    @property
    def socket(self) -> Path:
        return self.data_dir / "run" / f"{self.module.removesuffix('_service')}.sock"

    @property
    def log(self) -> Path:
        return self.data_dir / f"{self.module}.log"

    def start(self, address: str | None = None) -> None:
        """Start the process and wait until it serves, at its socket unless `address` says otherwise."""
        command = [sys.executable, "-m", self.module, "--data-dir", str(self.data_dir), *self.arguments]
        self.data_dir.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self.channel = grpc.insecure_channel(address or f"unix:{self.socket}")
        self.wait_until_serving()

    def wait_until_serving(self) -> None:
        assert self.process is not None
        assert self.channel is not None
        stub = health_pb2_grpc.HealthStub(self.channel)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            assert self.process.poll() is None, f"{self.module} ended: {self.log.read_text()}"
            with contextlib.suppress(grpc.RpcError):
                if (
                    stub.Check(health_pb2.HealthCheckRequest(), timeout=1).status
                    == health_pb2.HealthCheckResponse.SERVING
                ):
                    return
            time.sleep(0.05)
        raise AssertionError(f"{self.module} did not serve in time: {self.log.read_text()}")

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """Kill -9, and wait until it is gone."""
        if self.channel is not None:
            self.channel.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def stop(self) -> int:
        """SIGTERM; return the exit code."""
        assert self.process is not None
        if self.channel is not None:
            self.channel.close()
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(30)


@dataclass
class Stack:
    """Both services on one data directory."""

    data_dir: Path
    ranker_arguments: tuple[str, ...] = ()
    history_arguments: tuple[str, ...] = ()
    ranker: Service = field(init=False)
    history: Service = field(init=False)

    def __post_init__(self) -> None:
        self.ranker = Service("ranker_service", self.data_dir, self.ranker_arguments)
        self.history = Service("history_service", self.data_dir, self.history_arguments)

    def start(self) -> "Stack":
        self.history.start()
        self.ranker.start()
        return self

    def close(self) -> None:
        self.ranker.kill()
        self.history.kill()

    @property
    def ranker_stub(self) -> ranker_service_pb2_grpc.RankerServiceStub:
        assert self.ranker.channel is not None
        return ranker_service_pb2_grpc.RankerServiceStub(self.ranker.channel)

    @property
    def history_stub(self) -> history_service_pb2_grpc.HistoryServiceStub:
        assert self.history.channel is not None
        return history_service_pb2_grpc.HistoryServiceStub(self.history.channel)

    @property
    def evaluation_stub(self) -> evaluation_service_pb2_grpc.EvaluationServiceStub:
        assert self.history.channel is not None
        return evaluation_service_pb2_grpc.EvaluationServiceStub(self.history.channel)


@contextlib.contextmanager
def short_directory() -> Iterator[Path]:
    """A temporary directory whose socket paths stay below 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix="rt-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def running_stack(ranker: tuple[str, ...] = (), history: tuple[str, ...] = ()) -> Iterator[Stack]:
    """Both services, started and at the end killed."""
    with short_directory() as directory:
        stack = Stack(directory, ranker, history)
        try:
            yield stack.start()
        finally:
            stack.close()

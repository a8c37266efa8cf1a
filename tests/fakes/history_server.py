"""A history service for tests: in this process, or as a process of its own; always over a real Unix socket."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from history_service.bootstrap import HistoryService
from history_service.config import read_config
from ranktrail.evaluation.v1 import evaluation_service_pb2_grpc
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2_grpc
from tests.history_builders import Corpus

TIMEOUT = 30.0
ROOT = Path(__file__).parents[2]


class HistoryClient:
    """Calls a history service."""

    def __init__(self, target: str, metadata: tuple[tuple[str, str], ...] = ()) -> None:
        self.channel = grpc.insecure_channel(target, options=[("grpc.enable_retries", 0)])
        self.history = history_service_pb2_grpc.HistoryServiceStub(self.channel)
        self.evaluation = evaluation_service_pb2_grpc.EvaluationServiceStub(self.channel)
        self.metadata = metadata

    def record(self, frames: Iterable[pb.RecordRetrievalRunsRequest]) -> dict[str, pb.RecordRetrievalRunsResponse]:
        """Send frames on one stream and return the answers by run id."""
        answers = list(self.history.RecordRetrievalRuns(iter(list(frames)), timeout=TIMEOUT))
        return {answer.run_id: answer for answer in answers}

    def put(self, corpus: Corpus, **start: Any) -> tuple[list[str], pb.CorpusStored]:
        """Store a corpus; return (the digests asked for, the answer)."""
        frames: SimpleQueue[pb.PutCorpusRequest | None] = SimpleQueue()
        for frame in corpus.manifest_frames(**start):
            frames.put(frame)
        asked: list[str] = []
        for answer in self.history.PutCorpus(iter(frames.get, None), timeout=TIMEOUT):
            if answer.HasField("stored"):
                frames.put(None)
                stored = answer.stored
            else:
                asked += answer.missing.digests
                for frame in [] if answer.missing.more else corpus.blob_frames(asked):
                    frames.put(frame)
        return asked, stored

    def get(self, run_id: str = "run-1") -> pb.GetRetrievalRunResponse:
        """Return one Run, whole."""
        return self.history.GetRetrievalRun(pb.GetRetrievalRunRequest(run_id=run_id), timeout=TIMEOUT)

    def list(self, **request: Any) -> pb.ListRetrievalRunsResponse:
        """Return a page of Runs."""
        return self.history.ListRetrievalRuns(pb.ListRetrievalRunsRequest(**request), timeout=TIMEOUT)

    def runtime(self) -> pb.GetRuntimeResponse:
        """Return what the process is and does."""
        return self.history.GetRuntime(pb.GetRuntimeRequest(), timeout=TIMEOUT)

    def close(self) -> None:
        """Close the channel."""
        self.channel.close()


class RunningHistory(HistoryClient):
    """A service in this process, and a client of it."""

    def __init__(self, data_dir: Path, *arguments: str) -> None:
        self.data_dir = data_dir
        self.service = HistoryService(read_config(["--data-dir", str(data_dir), *arguments]))
        self.service.start()
        super().__init__(self.service.target)

    def close(self) -> None:
        """Stop the service."""
        super().close()
        self.service.close()


class HistoryProcess:
    """A service as a process, ready when this returns."""

    def __init__(self, data_dir: Path, *arguments: str) -> None:
        self.target = f"unix:{data_dir}/run/history.sock"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "history_service", "--data-dir", str(data_dir), *arguments],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log = self._first_line()

    def _first_line(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        while line and "serves" not in line and self.process.poll() is None:
            line += self.process.stderr.readline()
        return line

    def freeze(self) -> None:
        """Stop it with SIGSTOP, and return once it has stopped: the signal takes effect after the call that sent it."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(TIMEOUT)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Ask it to stop; return (its exit code, how many seconds it took)."""
        begin = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT), time.monotonic() - begin

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.process.poll() is None:
            self.kill()
        if self.process.stderr is not None:
            self.process.stderr.close()


def error_of(call: grpc.RpcError) -> tuple[grpc.StatusCode, str, dict[str, str]]:
    """Return (code, reason, metadata) of a failed call."""
    status = rpc_status.from_call(call)
    assert status is not None, call
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == "ranktrail"
    return call.code(), info.reason, dict(info.metadata)


def eventually(condition: Any, seconds: float = 10.0) -> bool:
    """Wait until a condition holds; return whether it came to."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


def files_below(directory: Path) -> Iterator[Path]:
    """Yield every file and directory below a directory."""
    for parent, directories, files in os.walk(directory):
        for name in (*directories, *files):
            yield Path(parent) / name

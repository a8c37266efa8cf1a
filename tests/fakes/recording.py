"""A recorder and a fake of history on a directory of their own."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace
from ranker_service.recorder.connection import HistoryTarget
from ranker_service.recorder.sink import Recorder
from ranker_service.system import SystemClock
from tests.fakes.history import FakeHistory
from tests.processes import short_directory
from tests.traces import a_memory, a_trace, write_bodies

WAIT_SECONDS = 30.0
ROOT = Path(__file__).parents[2]


class Rig:
    """What a test of the recorder needs; `history` serves from `history.start(rig.address)` on."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = f"unix:{directory}/history.sock"
        self.history = FakeHistory()
        self.recorder: Recorder | None = None
        self.sent: list[str] = []

    def open(self, limit_bytes: int = 1024**3, token: str | None = None) -> Recorder:
        """Make a recorder; `start` it where it is to deliver."""
        target = HistoryTarget(self.address, token=lambda: token)
        self.recorder = Recorder(
            self.directory / "spool", target, SystemClock(), random.Random(1).random, limit_bytes=limit_bytes
        )
        return self.recorder

    def register(self, bodies: Mapping[str, str], project_id: str = "project") -> EffectiveMemory:
        """Make a memory a project's present one."""
        assert self.recorder is not None
        memory = a_memory(project_id, bodies)
        self.recorder.corpora.register(memory, write_bodies(self.directory / "memory", bodies))
        return memory

    def run(self, memory: EffectiveMemory, count: int = 1, candidates: int = 2) -> list[float]:
        """Record so many Runs; return the seconds that each took of its caller's time."""
        return [self.keep(a_trace(f"run-{len(self.sent):05d}", memory, candidates)) for _ in range(count)]

    def keep(self, trace: RunTrace) -> float:
        """Record one Run; return the seconds that it took of its caller's time."""
        assert self.recorder is not None
        begun = time.perf_counter()
        self.recorder.started(trace)
        self.recorder.finished(trace)
        self.sent.append(trace.run_id)
        return time.perf_counter() - begun

    def wait(self, condition: Callable[[], bool], what: str = "it", seconds: float = WAIT_SECONDS) -> None:
        """Wait until a condition holds."""
        until = time.monotonic() + seconds
        while not condition():
            status = self.recorder.status() if self.recorder is not None else None
            assert time.monotonic() < until, f"{what} did not happen: {status}, recorded {len(self.history.recorded)}"
            time.sleep(0.005)

    def wait_delivered(self, seconds: float = WAIT_SECONDS) -> None:
        """Wait until no Run is pending, and see that each arrived once, whole, in order."""
        recorder = self.recorder
        assert recorder is not None
        self.wait(lambda: recorder.status().pending_run_count == 0, "delivery", seconds)
        assert self.history.recorded == self.sent


@contextlib.contextmanager
def a_rig() -> Iterator[Rig]:
    """A rig whose parts are closed in the end."""
    with short_directory() as directory:
        rig = Rig(directory)
        try:
            yield rig
        finally:
            if rig.recorder is not None:
                rig.recorder.close(0.0)
            rig.history.stop()


class HistoryProcess:
    """The fake as a process of its own, that can be frozen."""

    def __init__(self, address: str) -> None:
        command = [sys.executable, "-m", "tests.fakes.history", address]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"serving\n"

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self._process.pid, number)

    def end(self) -> None:
        """End it, frozen or not."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

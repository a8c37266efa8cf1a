"""A ranker process that ends however it may: every Run whose `finished` returned is in the journal, whole."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ranker_service.recorder.journal import Journal
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.recording import ROOT, HistoryProcess
from tests.processes import short_directory

SEED = 20_26
WRITER = """
import random, sys
from pathlib import Path
from ranker_service.recorder.connection import HistoryTarget
from ranker_service.recorder.sink import Recorder
from ranker_service.system import SystemClock
from tests.traces import a_memory, a_trace, write_bodies

directory, address, name, count = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
recorder = Recorder(directory / "spool", HistoryTarget(address), SystemClock(), random.random)
memory = a_memory()
recorder.corpora.register(memory, write_bodies(directory / "memory", {"guide.md": "Guide"}))
recorder.start()
number = 0
while number < count:
    trace = a_trace(f"{name}-{number}", memory, candidates=number * 37 % 100)
    recorder.started(trace)
    recorder.finished(trace)
    print(trace.run_id, flush=True)
    number += 1
recorder.close(0.0)
print("closed", flush=True)
"""


def a_writer(directory: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(directory), f"unix:{directory}/history.sock", name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def assert_whole(frames: tuple[bytes, ...]) -> None:
    parsed = [pb.RecordRetrievalRunsRequest.FromString(frame) for frame in frames]
    assert parsed[0].WhichOneof("frame") == "started"
    assert parsed[-1].WhichOneof("frame") == "finished"
    sent = sum(len(frame.candidates.candidates) for frame in parsed)
    assert sent == parsed[-1].finished.candidate_count


def test_a_process_killed_at_random_instants_leaves_every_acknowledged_run_whole() -> None:
    generator = random.Random(SEED)
    acknowledged: list[str] = []
    with short_directory() as directory:
        for kill in range(6):
            writer = a_writer(directory, f"run-{kill}", 1_000_000)
            assert writer.stdout is not None
            acknowledged.append(writer.stdout.readline().strip())
            time.sleep(generator.uniform(0.0, 0.25))
            writer.kill()
            acknowledged += writer.communicate()[0].split()
        journal = Journal(directory / "spool", 1024**3)
        recovered = journal.recovered()
        runs = {pending.run_id for pending in recovered}
        for pending in recovered:
            assert_whole(journal.read(pending).frames)
        journal.close()
    assert len(acknowledged) > 6
    assert not set(acknowledged) - runs
    assert journal.damaged_count == 0


@pytest.mark.parametrize("frozen", [False, True], ids=["stopped", "frozen"])
def test_a_process_ends_by_itself_whatever_history_does(frozen: bool) -> None:
    with short_directory() as directory:
        history = HistoryProcess(f"unix:{directory}/history.sock") if frozen else None
        if history is not None:
            history.send(signal.SIGSTOP)
        try:
            writer = a_writer(directory, "run", 50)
            output, _ = writer.communicate(timeout=30)
        finally:
            if history is not None:
                history.end()
        assert writer.returncode == 0
        assert output.split()[-1] == "closed"
        journal = Journal(directory / "spool", 1024**3)
        assert [pending.run_id for pending in journal.recovered()] == [f"run-{i}" for i in range(50)]
        journal.close()


def test_a_process_ends_by_itself_when_history_freezes_under_its_open_stream() -> None:
    with short_directory() as directory:
        history = HistoryProcess(f"unix:{directory}/history.sock")
        try:
            writer = a_writer(directory, "run", 3_000)
            assert writer.stdout is not None
            for _ in range(100):
                writer.stdout.readline()
            history.send(signal.SIGSTOP)
            output, _ = writer.communicate(timeout=60)
        finally:
            history.end()
        assert writer.returncode == 0
        assert output.split()[-1] == "closed"

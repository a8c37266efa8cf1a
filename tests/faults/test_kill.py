"""kill -9 of either process under load: nothing acknowledged is lost, nothing is half there."""

import contextlib
import hashlib
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from tests.memories import remember
from tests.processes import Service, Stack, running_stack

KILLS = 20
SEED = 20_26
PROJECT = "kill"
PAGES = {
    f"page-{i}.md": f"# Page {i}\n\nValve {i} of pump {i % 7} opens at {i * 3} degrees.\n\n## Reset\n\nPress {i}.\n"
    for i in range(40)
}


class Load:
    """Callers that activate without pause and remember every acknowledged reply."""

    def __init__(self, stack: Stack, callers: int) -> None:
        self._stack = stack
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.acknowledged: dict[str, list[str]] = {}
        self._threads = [threading.Thread(target=self._call, args=(i,)) for i in range(callers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _call(self, caller: int) -> None:
        generator = random.Random(caller)
        while not self._stop.is_set():
            query = f"valve {generator.randrange(40)} of pump {generator.randrange(7)}"
            request = pb.ActivateMemoryRequest(project_id=PROJECT, query=query)
            try:
                reply = self._stack.ranker_stub.ActivateMemory(request, timeout=5)
            except (grpc.RpcError, ValueError):  # ValueError: the channel was closed with the killed process
                time.sleep(0.05)
                continue
            with self._lock:
                self.acknowledged[reply.run_id] = [fragment.unit_key for fragment in reply.fragments]


def drain(stack: Stack) -> None:
    """Wait until history has confirmed every Run of the journal."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with contextlib.suppress(grpc.RpcError):
            recorder = stack.ranker_stub.GetRuntime(pb.GetRuntimeRequest(), timeout=5).recorder
            if recorder.pending_run_count == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"Runs stay undelivered: {recorder}")


def assert_store_is_whole(data_dir: Path) -> None:
    """SQLite's own checks, and every body under its own digest."""
    with contextlib.closing(sqlite3.connect(data_dir / "history" / "local.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        counts = database.execute(
            "SELECT count(*) FROM retrieval_runs r WHERE r.state != 'running' AND r.candidate_count != "
            "(SELECT count(*) FROM retrieval_run_candidates c WHERE c.run_sequence = r.sequence)"
        ).fetchone()
        assert counts == (0,)
    blobs = [path for path in (data_dir / "history" / "evaluation-corpora" / "blobs").rglob("*") if path.is_file()]
    assert blobs
    for path in blobs:
        if len(path.name) == 64:
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killing_either_process_at_random_instants_loses_no_acknowledged_run() -> None:
    generator = random.Random(SEED)
    with running_stack(history=("--retain-runs", "1000000")) as stack:
        remember(stack.ranker_stub, PROJECT, PAGES)
        with Load(stack, callers=2) as load:
            for kill in range(KILLS):
                victim: Service = stack.history if kill % 2 else stack.ranker
                time.sleep(generator.uniform(0.05, 0.8))
                victim.kill()
                time.sleep(generator.uniform(0.0, 0.3))
                victim.start()
            time.sleep(1)
        drain(stack)
        assert len(load.acknowledged) > KILLS
        for run_id, unit_keys in load.acknowledged.items():
            recorded = stack.history_stub.GetRetrievalRun(
                history_service_pb2.GetRetrievalRunRequest(run_id=run_id), timeout=10
            )
            assert recorded.run.state == history_service_pb2.RetrievalRun.STATE_SUCCEEDED, run_id
            assert len(recorded.candidates) == recorded.run.candidate_count
            assert [c.unit_key for c in recorded.candidates if c.selected] == unit_keys
        stack.close()
        assert_store_is_whole(stack.data_dir)
        # What was being written at a kill may lie about; everything that counts is checked, the ranker's commits too.
        program = [sys.executable, "-m", "ranktrail_cli", "fsck", "--repair", "--data-dir", str(stack.data_dir)]
        fsck = subprocess.run(program, capture_output=True, text=True, check=False)
        assert fsck.returncode == 0, fsck.stdout + fsck.stderr

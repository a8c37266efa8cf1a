"""kill -9 while Runs come and go: whatever instant it is, no Run, no case and no row lacks a body."""

import contextlib
import random
import sqlite3
import threading
import time
from pathlib import Path

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, HistoryClient, HistoryProcess
from tests.history_builders import digest
from tests.store_checks import assert_only_leftovers

ROUNDS = 15
RETAINED = 5


class Load:
    """Records Runs over ever new memories, pins a few, and clears now and then, until history dies."""

    def __init__(self, target: str, number: int) -> None:
        self.client = HistoryClient(target)
        self.number = number
        self.pinned: list[str] = []
        self._threads = [threading.Thread(target=work) for work in (self._record, self._clear)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        self.client.close()

    def _record(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            for n in range(100_000):
                run_id = f"round-{self.number}-{n}"
                bodies = {f"doc-{i}": f"{self.number} {n} {i}".encode() * 50 for i in range(4)} | {"all": b"the same"}
                cases.record(self.client, run_id, bodies=bodies, candidates=3)
                if n % 7 == 0:
                    self._pin(run_id)

    def _pin(self, run_id: str) -> None:
        try:
            self.pinned.append(cases.create(self.client, run_id).case_id)
        except grpc.RpcError as error:
            # Cleared meanwhile.
            if error.code() is not grpc.StatusCode.NOT_FOUND:  # type: ignore[attr-defined]
                raise

    def _clear(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            while True:
                time.sleep(random.uniform(0, 0.2))
                self.client.history.ClearRetrievalRuns(pb.ClearRetrievalRunsRequest(), timeout=TIMEOUT)


@pytest.mark.slow
def test_killed_at_random_instants_while_runs_come_and_go_nothing_lacks_a_body(tmp_path: Path) -> None:
    pinned: list[str] = []
    for number in range(ROUNDS):
        with HistoryProcess(tmp_path, "--retain-runs", str(RETAINED)) as process:
            load = Load(process.target, number)
            time.sleep(random.uniform(0.1, 0.7))
            process.kill()
            load.join()
        pinned += load.pinned
        _check_store(tmp_path)
    assert len(pinned) >= ROUNDS
    with HistoryProcess(tmp_path, "--inspect") as process:
        client = HistoryClient(process.target)
        assert_only_leftovers(client.history)
        client.close()
    with HistoryProcess(tmp_path, "--retain-runs", str(RETAINED)) as process:
        client = HistoryClient(process.target)
        assert {case_id for case_id in pinned if cases.get(client, case_id)} == set(pinned)
        client.close()


def _check_store(data_dir: Path) -> None:
    blobs = data_dir / "history" / "evaluation-corpora" / "blobs"
    files = {path.name: path for path in blobs.glob("??/*") if not path.name.startswith(".draft-")}
    assert all(digest(path.read_bytes()) == name for name, path in files.items())
    connection = sqlite3.connect(data_dir / "history" / "local.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert {name for (name,) in connection.execute("SELECT digest FROM retrieval_corpus_blobs")} <= set(files)
    lost = connection.execute(
        "SELECT run_id FROM retrieval_runs WHERE state = 'succeeded' AND 5 <> (SELECT count(*) "
        "FROM retrieval_run_resources AS one WHERE one.effective_memory_hash = retrieval_runs.effective_memory_hash)"
    )
    assert lost.fetchall() == []
    assert connection.execute("SELECT count(*) FROM evaluation_corpora WHERE resource_count <> 5").fetchall() == [(0,)]
    connection.close()

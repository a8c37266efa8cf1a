"""kill -9 at any instant: what was answered is there, whole, and nothing is half there."""

import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.fakes.history_server import TIMEOUT, HistoryClient, HistoryProcess
from tests.history_builders import Corpus, a_corpus, a_run, digest, revisions
from tests.store_checks import assert_only_leftovers

ROUNDS = 20
CANDIDATES = 60


class Load:
    """Records Runs and puts corpora as fast as history takes them, until history dies."""

    def __init__(self, target: str, round_number: int) -> None:
        self.client = HistoryClient(target)
        self.round = round_number
        self.recorded: set[str] = set()
        self.stored: list[Corpus] = []
        self._places = threading.Semaphore(16)
        self._threads = [threading.Thread(target=self._record), threading.Thread(target=self._put)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        self.client.close()

    def _frames(self) -> Iterator[pb.RecordRetrievalRunsRequest]:
        for n in range(100_000):
            self._places.acquire(timeout=TIMEOUT)
            yield from a_run(f"round-{self.round}-{n}", candidates=CANDIDATES, frame_size=25)

    def _record(self) -> None:
        try:
            for answer in self.client.history.RecordRetrievalRuns(self._frames(), timeout=TIMEOUT):
                assert answer.HasField("recorded")
                self.recorded.add(answer.run_id)
                self._places.release()
        except grpc.RpcError:
            pass

    def _put(self) -> None:
        try:
            for n in range(100_000):
                bodies = {f"doc-{i}": f"{self.round} {n} {i}".encode() * 500 for i in range(20)}
                corpus = a_corpus(bodies)
                self.client.put(corpus)
                self.stored.append(corpus)
        except grpc.RpcError:
            pass


@pytest.mark.slow
def test_killed_at_random_instants_under_load_it_keeps_what_it_answered_and_nothing_half(tmp_path: Path) -> None:
    recorded: set[str] = set()
    stored: list[Corpus] = []
    for round_number in range(ROUNDS):
        with HistoryProcess(tmp_path, "--retain-runs", "1000000") as process:
            load = Load(process.target, round_number)
            time.sleep(random.uniform(0.05, 0.6))
            process.kill()
            load.join()
        recorded |= load.recorded
        stored += load.stored
    assert recorded
    assert stored
    _check_rows(tmp_path, recorded)
    _check_bodies(tmp_path)
    with HistoryProcess(tmp_path, "--inspect") as process:
        client = HistoryClient(process.target)
        assert_only_leftovers(client.history)
        client.close()
    _check_service(tmp_path, recorded, stored)


def _check_rows(data_dir: Path, recorded: set[str]) -> None:
    connection = sqlite3.connect(data_dir / "history" / "local.db")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    rows = connection.execute(
        "SELECT run_id, state, candidate_count, count(unit_key) FROM retrieval_runs "
        "LEFT JOIN retrieval_run_candidates ON run_sequence = sequence GROUP BY sequence"
    ).fetchall()
    connection.close()
    assert {run_id for run_id, state, *_ in rows if state == "succeeded"} >= recorded
    for _run_id, state, declared, count in rows:
        assert count == (CANDIDATES if state == "succeeded" else 0)
        assert declared == (None if state == "running" else count)


def _check_bodies(data_dir: Path) -> None:
    blobs = data_dir / "history" / "evaluation-corpora" / "blobs"
    named = {path.name: path for path in blobs.glob("??/*") if not path.name.startswith(".draft-")}
    assert all(digest(path.read_bytes()) == name for name, path in named.items())
    connection = sqlite3.connect(data_dir / "history" / "local.db")
    rows = connection.execute("SELECT digest, size_bytes FROM retrieval_corpus_blobs").fetchall()
    connection.close()
    assert all(named[name].stat().st_size == size for name, size in rows)


def _check_service(data_dir: Path, recorded: set[str], stored: list[Corpus]) -> None:
    with HistoryProcess(data_dir, "--retain-runs", "1000000") as process:
        client = HistoryClient(process.target)
        assert client.runtime().running_run_count == 0
        for run_id in sorted(recorded)[:50]:
            assert len(client.get(run_id).candidates) == CANDIDATES
        for n, corpus in enumerate(stored[-5:]):
            frames = a_run(f"over-{n}", revised=revisions(effective_memory_hash=corpus.hash))
            assert client.record(frames)[f"over-{n}"].HasField("recorded")
            assert client.put(corpus)[0] == []
        client.close()

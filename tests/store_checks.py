"""Checks and backups of a history store for tests, over the wire."""

import sqlite3
from contextlib import closing
from pathlib import Path

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from ranktrail.storage.v1 import storage_pb2
from tests.history_builders import digest

TIMEOUT = 120.0
PHASES = ["database", "files", "bodies", "manifests", "runs", "cases"]


def problems_of(stub: HistoryServiceStub, repair: bool = False) -> list[storage_pb2.StorageProblem]:
    """Check a store to the end and return what is wrong."""
    events = [one.event for one in stub.CheckStore(pb.CheckStoreRequest(repair=repair), timeout=TIMEOUT)]
    last = {one.progress.phase: one.progress for one in events if one.HasField("progress")}
    assert list(last) == PHASES
    assert all(one.done_count == one.total_count for one in last.values())
    problems = [one.problem for one in events if one.HasField("problem")]
    repaired = sum(problem.repaired for problem in problems)
    assert events[-1].end == storage_pb2.CheckEnd(problem_count=len(problems), repaired_count=repaired)
    return problems


def assert_only_leftovers(stub: HistoryServiceStub) -> None:
    """Check a store after a kill: at worst there is something that a repair tidies, and then nothing is wrong."""
    found = problems_of(stub, repair=True)
    assert [problem for problem in found if not problem.repaired] == []
    assert problems_of(stub) == []


def write_backup(stub: HistoryServiceStub, data_dir: Path) -> None:
    """Take a backup and lay it out as a data directory."""
    path = data_dir
    for frame in (one.frame for one in stub.BackupStore(pb.BackupStoreRequest(), timeout=TIMEOUT)):
        assert not frame.HasField("problem"), frame.problem
        assert len(frame.content) <= 1_048_576
        if frame.HasField("file"):
            path = data_dir / frame.file.path
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
        if frame.content:
            with path.open("ab") as file:
                file.write(frame.content)
    assert frame.HasField("end")


def body_path(data_dir: Path, body: bytes) -> Path:
    """Return where history keeps a body."""
    name = digest(body)
    return data_dir / "history" / "evaluation-corpora" / "blobs" / name[:2] / name


def edit(data_dir: Path, statement: str, *parameters: str) -> None:
    """Change the database as nobody should: beside the service, and without its references being looked at."""
    with closing(sqlite3.connect(data_dir / "history" / "local.db", timeout=10)) as connection:
        assert connection.execute(statement, parameters).rowcount > 0
        connection.commit()

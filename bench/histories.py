"""A history to measure: the service as a process on a Unix socket, Runs as a ranker sends them, and judged cases."""

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, Self

import grpc

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ranktrail.evaluation.v1 import evaluation_service_pb2 as evaluation_pb  # noqa: E402
from ranktrail.history.v1 import history_service_pb2 as history_pb  # noqa: E402
from ranktrail.trace.v1 import trace_pb2  # noqa: E402
from tests.fakes.history_server import HistoryClient  # noqa: E402
from tests.history_builders import CREATE_TIME, Corpus, a_candidate, a_corpus, a_run, digest, revisions  # noqa: E402

__all__ = ["CREATE_TIME"]
PROJECT = "bench"
UNANSWERED = 32
RUNS_AT_ONCE = 250
CANDIDATES = 120
LISTED = 60
RERANKED = 24
SELECTED = 12
RESOURCES = 1_400
JUDGMENTS = 20
WORDS = 20_000
EXCERPT_WORDS = (60, 180)
RECORD = "/ranktrail.history.v1.HistoryService/RecordRetrievalRuns"

Frames = list[bytes]


class History(HistoryClient):
    """A history process on a data directory, and a client of it."""

    def __init__(self, data_dir: Path, *arguments: str) -> None:
        address = f"unix:{data_dir}/run/history.sock"
        command = [sys.executable, "-m", "history_service", "--data-dir", str(data_dir), *arguments]
        self.database = data_dir / "history" / "local.db"
        self._process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        super().__init__(address)
        grpc.channel_ready_future(self.channel).result(60)

    def send(self, runs: Iterable[Frames]) -> int:
        """Send Runs on one stream, at most 32 unanswered; return how many were recorded. Exit where one is refused."""
        room, recorded = threading.Semaphore(UNANSWERED), 0

        def frames() -> Iterator[bytes]:
            for run in runs:
                room.acquire()
                yield from run

        for raw in self.channel.stream_stream(RECORD)(frames()):
            room.release()
            answer = history_pb.RecordRetrievalRunsResponse.FromString(raw)
            if not answer.HasField("recorded"):
                raise SystemExit(f"history refused a Run: {answer}")
            recorded += 1
        return recorded

    def peak_kib(self, anew: bool = False) -> int:
        """Return the most memory that the process had, in KiB; `anew` forgets what it had before."""
        folder = Path("/proc") / str(self._process.pid)
        if anew:
            (folder / "clear_refs").write_text("5")
        lines = (folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
        self._process.terminate()
        self._process.wait(60)


class Traces:
    """Traces as the default profile makes them: of 120 candidates 60 are of BM25, 60 dense, 24 reranked."""

    def __init__(self, seed: int = 1, resources: int = RESOURCES) -> None:
        self._random = random.Random(seed)
        bodies = {f"doc-{number:05d}": f"Document {number}.\n{self._text()}".encode() for number in range(resources)}
        self.corpus: Corpus = a_corpus(bodies, PROJECT)
        self._resources = self.corpus.resources
        self._revised = revisions(
            effective_memory_hash=self.corpus.hash, resource_count=resources, unit_count=3 * resources
        )

    def candidates(self, count: int = CANDIDATES) -> list[trace_pb2.Candidate]:
        """Return candidates of one Run in final order; their units are of distinct resources."""
        seen = self._random.sample(range(count), count)
        chosen = self._random.sample(self._resources, count)
        return [self._candidate(rank, seen[rank - 1], resource) for rank, resource in enumerate(chosen, start=1)]

    def run(self, run_id: str, candidates: list[trace_pb2.Candidate], create_time: int = 0) -> Frames:
        """Return the frames of a succeeded Run."""
        started: dict[str, Any] = {"project_id": PROJECT, "query": self._text()[:120]}
        if create_time:
            started["create_time"] = {"seconds": create_time}
        frames = a_run(run_id, candidates=candidates, revised=self._revised, **started)
        return [frame.SerializeToString() for frame in frames]

    def judgments(self, candidates: list[trace_pb2.Candidate]) -> list[evaluation_pb.EvaluationJudgment]:
        """Return judgments of some of the units."""
        chosen = self._random.sample(candidates, min(JUDGMENTS, len(candidates)))
        return [
            evaluation_pb.EvaluationJudgment(
                resource_id=one.resource_id,
                unit_key=one.unit_key,
                relevance=self._random.randrange(4),
                source=evaluation_pb.EvaluationJudgment.SOURCE_HUMAN,
            )
            for one in chosen
        ]

    def _candidate(self, rank: int, place: int, resource: trace_pb2.Resource) -> trace_pb2.Candidate:
        bm25 = place + 1 if place < LISTED else None
        dense = place - LISTED + 1 if place >= LISTED else None
        reranked, selected = rank <= RERANKED, rank <= SELECTED
        return a_candidate(
            rank,
            unit_key=f"{resource.resource_id}#document/section-{rank}/1/0",
            resource_id=resource.resource_id,
            path=resource.path,
            title=resource.title,
            heading_path=["Document", f"Section {rank}"],
            unit_digest=digest(f"{resource.resource_id} {rank}"),
            resource_digest=resource.digest,
            excerpt=self._text(),
            bm25_rank=bm25,
            bm25_score=bm25 and 25 * self._random.random(),
            lexical_rank=bm25,
            dense_rank=dense,
            dense_score=dense and self._random.random(),
            rrf_rank=rank,
            reranker_rank=rank if reranked else None,
            reranker_score=self._random.random() if reranked else None,
            late_interaction_score=self._random.random() if reranked else None,
            reranker_truncated=False if reranked else None,
            relevance=self._random.random() if reranked else None,
            final_stage="rerank" if reranked else "rrf",
            selected=selected,
            exclusion_reason=_reason(selected, reranked),
            delta_action=trace_pb2.DELTA_ACTION_ADD if selected else trace_pb2.DELTA_ACTION_UNSPECIFIED,
        )

    def _text(self) -> str:
        words = self._random.choices(range(WORDS), k=self._random.randint(*EXCERPT_WORDS))
        return " ".join(f"w{word}" for word in words)


def judged_set(history: History, traces: Traces, count: int) -> None:
    """Record, pin and judge Runs of 120 candidates; few at a time, since those that no case pins go."""
    history.put(traces.corpus)
    for start in range(0, count, RUNS_AT_ONCE):
        numbers = range(start, min(start + RUNS_AT_ONCE, count))
        made = {f"case-{number}": traces.candidates() for number in numbers}
        history.send(traces.run(run_id, candidates) for run_id, candidates in made.items())
        for run_id, candidates in made.items():
            pinned = history.evaluation.CreateEvaluationCase(evaluation_pb.CreateEvaluationCaseRequest(run_id=run_id))
            judge(history, pinned.evaluation_case, traces.judgments(candidates))


def judge(
    history: History, case: evaluation_pb.EvaluationCase, judgments: list[evaluation_pb.EvaluationJudgment]
) -> None:
    """Replace a case's judgments."""
    history.evaluation.ReplaceEvaluationJudgments(
        evaluation_pb.ReplaceEvaluationJudgmentsRequest(
            case_id=case.case_id,
            expected_judgment_version=case.judgment_version,
            author="bench",
            request_id=f"version-{case.judgment_version}",
            judgments=judgments,
        )
    )


@contextlib.contextmanager
def temporary_data_dir(parent: Path | None = None) -> Iterator[Path]:
    """Make a directory of a short path, since a socket's path has a limit."""
    with tempfile.TemporaryDirectory(prefix="rt-", dir=parent) as directory:
        yield Path(directory)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database as bare `sqlite3` does, read-only."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield connection
    finally:
        connection.close()


def sync_milliseconds(directory: Path, count: int = 50) -> float:
    """Return the median time in which the disk makes 4 KiB more of a file durable."""
    times = []
    with (directory / "sync").open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(bytes(4_096))
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(1_000 * (time.perf_counter() - begun))
    return median(times)


def _reason(selected: bool, reranked: bool) -> int:
    if selected:
        return trace_pb2.EXCLUSION_REASON_UNSPECIFIED
    return trace_pb2.EXCLUSION_REASON_FRAGMENT_LIMIT if reranked else trace_pb2.EXCLUSION_REASON_NOT_RERANKED

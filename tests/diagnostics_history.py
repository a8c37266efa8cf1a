"""A history with Runs to look at, for tests of the diagnostics pages."""

import contextlib
from collections.abc import Iterator
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.trace.v1 import trace_pb2 as trace
from tests.fakes.history_server import HistoryClient
from tests.history_builders import CREATE_TIME, Corpus, a_candidate, a_corpus, a_run, digest, revisions
from tests.processes import Service, short_directory

UNIT = "How we deploy: deployed units deploy themselves.\n"
BODY = "Before the unit.\n" * 20 + UNIT + "After the unit.\n" * 20
START = BODY.index(UNIT)
BODIES = {f"doc-{n:04d}": BODY.encode() for n in range(1, 4)} | {"pump-manual": b"pumps", "picture": b"\xff\xfe"}
BATCH = 30


@contextlib.contextmanager
def running_history(*arguments: str) -> Iterator[tuple[Service, HistoryClient]]:
    """A history process in a short directory, and a client of it."""
    with short_directory() as directory:
        service = Service("history_service", directory, arguments)
        service.start()
        client = HistoryClient(f"unix:{service.socket}")
        try:
            yield service, client
        finally:
            client.close()
            service.kill()


def corpus() -> Corpus:
    """A memory of five resources, one of which is no text."""
    made = a_corpus(BODIES)
    for resource in made.resources:
        if resource.resource_id == "picture":
            resource.parse_state = trace.PARSE_STATE_NOT_UTF8
    return made


def candidate(rank: int, **changes: object) -> trace.Candidate:
    """A candidate that is the same unit of another document of that memory."""
    place = {"resource_digest": digest(BODY), "start_byte": START, "end_byte": START + len(UNIT)}
    return a_candidate(rank, **({"heading_path": ["Guide"], "excerpt": UNIT} | place | changes))


def record_run(
    client: HistoryClient, run_id: str, *candidates: trace.Candidate, memory: Corpus | None = None, **changes: Any
) -> None:
    """Record a Run over a memory, by default that one."""
    asked = memory or corpus()
    revised = revisions(effective_memory_hash=asked.hash, resource_count=len(asked.resources))
    frames = a_run(run_id, candidates=candidates, revised=revised, **changes)
    assert client.record(frames)[run_id].HasField("recorded")


def record_many(client: HistoryClient, count: int, memory: Corpus | None = None) -> None:
    """Record Runs old-000, old-001, … of two projects over a memory, a second apart, without candidates."""
    revised = revisions(effective_memory_hash=(memory or corpus()).hash)
    for start in range(0, count, BATCH):
        answers = client.record(
            frame
            for number in range(start, min(start + BATCH, count))
            for frame in a_run(
                f"old-{number:03d}",
                candidates=[],
                project_id=f"project-{number % 2}",
                query=f"old question {number}",
                create_time=Timestamp(seconds=CREATE_TIME + number),
                revised=revised,
            )
        )
        assert all(answer.HasField("recorded") for answer in answers.values())

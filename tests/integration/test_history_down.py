"""History stopped, late, killed or silent: replies are the same, and every Run arrives once history is back."""

import signal
import time
from statistics import median

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from tests.memories import remember
from tests.processes import Stack, short_directory
from tests.recorded import recorded

PAGES = {f"page-{i}.md": f"# Page {i}\n\nPump {i} drains tank {i % 5}.\n" for i in range(30)}
QUERIES = [f"which pump drains tank {i % 5}" for i in range(30)]


def ask(stack: Stack, queries: list[str]) -> tuple[list[pb.ActivateMemoryResponse], float]:
    """Return the replies and the median seconds that one took."""
    replies, seconds = [], []
    for query in queries:
        begun = time.perf_counter()
        request = pb.ActivateMemoryRequest(project_id="down", query=query)
        replies.append(stack.ranker_stub.ActivateMemory(request, timeout=10))
        seconds.append(time.perf_counter() - begun)
    return replies, median(seconds)


def assert_same(replies: list[pb.ActivateMemoryResponse], others: list[pb.ActivateMemoryResponse]) -> None:
    for reply, other in zip(replies, others, strict=True):
        first, second = pb.ActivateMemoryResponse(), pb.ActivateMemoryResponse()
        first.CopyFrom(reply)
        second.CopyFrom(other)
        first.run_id = second.run_id = ""
        assert first == second


def assert_arrived(stack: Stack, replies: list[pb.ActivateMemoryResponse]) -> None:
    for reply in replies:
        run = recorded(stack.history_stub, reply.run_id)
        assert run.run.state == history_pb.RetrievalRun.STATE_SUCCEEDED
        assert [c.unit_key for c in run.candidates if c.selected] == [f.unit_key for f in reply.fragments]


@pytest.mark.slow
def test_replies_do_not_depend_on_history_and_every_run_arrives() -> None:
    with short_directory() as directory:
        stack = Stack(directory)
        try:
            stack.ranker.start()
            remember(stack.ranker_stub, "down", PAGES)
            ask(stack, QUERIES[:5])
            never_there, never_there_seconds = ask(stack, QUERIES)
            stack.history.start()
            assert_arrived(stack, never_there)
            on, on_seconds = ask(stack, QUERIES)
            stack.history.send(signal.SIGSTOP)
            silent, silent_seconds = ask(stack, QUERIES)
            time.sleep(4)
            still_silent, _ = ask(stack, QUERIES)
            stack.history.send(signal.SIGCONT)
            assert_arrived(stack, on + silent + still_silent)
            stack.history.kill()
            killed, _ = ask(stack, QUERIES)
            stack.history.start()
            assert_arrived(stack, killed)
            for replies in (on, silent, still_silent, killed):
                assert_same(never_there, replies)
            assert max(never_there_seconds, silent_seconds, on_seconds) < 1.0
        finally:
            stack.close()


@pytest.mark.slow
def test_a_memory_cleared_while_history_is_down_is_still_recorded_whole() -> None:
    with short_directory() as directory:
        stack = Stack(directory)
        try:
            stack.ranker.start()
            remember(stack.ranker_stub, "down", PAGES)
            replies, _ = ask(stack, QUERIES[:3])
            stack.ranker_stub.ClearProjectStorage(pb.ClearProjectStorageRequest(project_id="down"))
            stack.ranker_stub.DeleteProject(pb.DeleteProjectRequest(project_id="down"))
            stack.ranker.kill()
            stack.ranker.start()
            stack.history.start()
            assert_arrived(stack, replies)
            request = history_pb.ReadRunResourceRequest(run_id=replies[0].run_id, resource_id="page-7.md")
            body = b"".join(part.content for part in stack.history_stub.ReadRunResource(request))
            assert body.decode() == PAGES["page-7.md"]
        finally:
            stack.close()

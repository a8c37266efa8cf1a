"""Who reads the pages changes nothing of what is retrieved."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from tests.diagnostics_pages import Pages, served_pages
from tests.memories import remember
from tests.processes import Stack
from tests.recorded import recorded

REQUESTS = 400
READERS = 4
PROJECT = "read"
DOCUMENTS = {f"page-{i}.md": f"# Page {i}\n\nThe pump number {i} drains tank {i % 5}.\n" for i in range(30)}
OF_ONE_RUN = (
    "run_id",
    "stage_latencies",
    "create_time",
    "complete_time",
    "sequence",
    "change_sequence",
    "cold",
)


def answered(stack: Stack) -> tuple[str, pb.ActivateMemoryResponse, history_pb.GetRetrievalRunResponse]:
    """An activation: its Run, and reply and trace without what is that Run's alone."""
    request = pb.ActivateMemoryRequest(project_id=PROJECT, query="which pump drains tank 3")
    reply = stack.ranker_stub.ActivateMemory(request, timeout=60)
    trace = recorded(stack.history_stub, reply.run_id)
    run_id = reply.run_id
    for field in OF_ONE_RUN:
        trace.run.ClearField(field)  # type: ignore[arg-type]
    reply.ClearField("run_id")
    reply.ClearField("next_activation_state")
    return run_id, reply, trace


def read(pages: Pages, paths: list[str]) -> None:
    with pages.client(timeout=30) as client:
        for path in paths:
            assert client.get(path).status_code == 200


@pytest.mark.slow
def test_activations_before_and_after_many_page_requests_are_the_same(stack: Stack) -> None:
    remember(stack.ranker_stub, PROJECT, DOCUMENTS)
    answered(stack)
    run_id, reply, trace = answered(stack)
    run = f"/runs/{run_id}"
    kinds = ["/runs", run, f"{run}/candidates/0", f"{run}/absent?text=page", f"/compare?a={run_id}&b={run_id}"]
    with served_pages(stack.data_dir) as pages, ThreadPoolExecutor(READERS) as readers:
        some = [list(itertools.islice(itertools.cycle(kinds), REQUESTS // READERS)) for _ in range(READERS)]
        list(readers.map(lambda paths: read(pages, paths), some))
        read(pages, ["/", f"{run}/charts"])
        _, reply_after, trace_after = answered(stack)
    assert reply_after == reply
    assert trace_after == trace

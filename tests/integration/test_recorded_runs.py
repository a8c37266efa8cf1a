"""What an activation leaves in history, through both services."""

import grpc
import pytest

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from tests.memories import ensure_index, remember
from tests.processes import Stack
from tests.recorded import recorded
from tests.refusals import refused

PAGES = {
    f"page-{i}.md": f"# Page {i}\n\nThe pump number {i} drains tank {i % 5}.\n\n## Valve\n\nValve {i} opens slowly.\n"
    for i in range(40)
}
SHARED = ["unit_key", "resource_id", "path", "heading_path", "start_byte", "end_byte", "unit_digest", "resource_digest"]
SHARED += ["token_count", "relevance"]
FAILED, SUCCEEDED = history_pb.RetrievalRun.STATE_FAILED, history_pb.RetrievalRun.STATE_SUCCEEDED
RUN_FAILED = trace_pb2.EXCLUSION_REASON_RUN_FAILED


@pytest.fixture(scope="module")
def project(stack: Stack) -> str:
    remember(stack.ranker_stub, "recorded", PAGES)
    return "recorded"


def activate(stack: Stack, project: str, **fields: object) -> pb.ActivateMemoryResponse:
    request = pb.ActivateMemoryRequest(**{"project_id": project, "query": "which pump drains tank 3", **fields})
    return stack.ranker_stub.ActivateMemory(request, timeout=60)


def test_selected_candidates_are_the_reply_field_by_field(stack: Stack, project: str) -> None:
    reply = activate(stack, project)
    again = activate(stack, project, activation_state=reply.next_activation_state)
    for answer in (reply, again):
        run = recorded(stack.history_stub, answer.run_id)
        selected = [candidate for candidate in run.candidates if candidate.selected]
        assert len(selected) == len(answer.fragments) == run.run.returned_fragment_count
        for candidate, fragment in zip(selected, answer.fragments, strict=True):
            for name in SHARED:
                assert getattr(candidate, name) == getattr(fragment, name), name
            assert candidate.delta_action == fragment.action
            if fragment.HasField("content"):
                assert fragment.content.startswith(candidate.excerpt)
        assert sum(c.token_count for c in selected) == run.run.returned_token_count
        for name in (f.name for f in trace_pb2.Revisions.DESCRIPTOR.fields):
            assert getattr(run.run, name) == getattr(answer.revisions, name), name


def test_every_candidate_is_selected_or_has_one_reason(stack: Stack, project: str) -> None:
    run = recorded(stack.history_stub, activate(stack, project).run_id)
    assert len(run.candidates) == run.run.candidate_count == len(PAGES)
    assert [candidate.final_rank for candidate in run.candidates] == list(range(1, len(run.candidates) + 1))
    for candidate in run.candidates:
        assert candidate.selected == (candidate.exclusion_reason == trace_pb2.EXCLUSION_REASON_UNSPECIFIED)
        assert candidate.selected == (candidate.delta_action != trace_pb2.DELTA_ACTION_UNSPECIFIED)
        assert candidate.HasField("rrf_rank")
        assert candidate.HasField("lexical_rank") or candidate.HasField("dense_rank")
        assert candidate.HasField("bm25_rank") == candidate.HasField("bm25_score")
        assert candidate.HasField("reranker_score") == (candidate.rrf_rank <= 24)
    assert {resource.resource_id for resource in run.resources} == {c.resource_id for c in run.candidates}


def test_stages_of_a_run_are_timed_in_order(stack: Stack, project: str) -> None:
    run = recorded(stack.history_stub, activate(stack, project).run_id).run
    stages = [latency.stage for latency in run.stage_latencies]
    assert stages == [
        "activation_state", "effective_memory", "index_ensure", "exact", "bm25", "embedding", "vector", "rrf", "rerank",
        "selection", "recording",
    ]  # fmt: skip
    elapsed = run.complete_time.ToMicroseconds() - run.create_time.ToMicroseconds()
    assert 0 < sum(latency.duration_us for latency in run.stage_latencies) < elapsed + 50_000


def test_an_unknown_project_is_recorded_as_a_failed_run(stack: Stack) -> None:
    refusal = refused(lambda: activate(stack, "nobody's"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND")
    run = recorded(stack.history_stub, refusal.metadata["run_id"]).run
    assert (run.state, run.failure.stage, run.failure.code) == (FAILED, "effective_memory", "project_not_found")
    assert not run.HasField("effective_memory_hash")
    assert run.ranking_profile.name == "activation.v1"


def test_a_state_that_does_not_decode_is_recorded_as_a_failed_run(stack: Stack, project: str) -> None:
    refusal = refused(lambda: activate(stack, project, activation_state=b"not a state"))
    assert refusal.reason == "INVALID_ACTIVATION_STATE"
    run = recorded(stack.history_stub, refusal.metadata["run_id"]).run
    assert (run.state, run.failure.stage) == (FAILED, "activation_state")
    assert run.failure.code == "invalid_activation_state"


def test_a_passed_deadline_is_recorded_and_its_caller_has_the_run_id(stack: Stack, project: str) -> None:
    found = None
    for milliseconds in [3, 4, 5, 6, 8] * 20:
        request = pb.ActivateMemoryRequest(project_id=project, query="which pump drains tank 3")
        try:
            stack.ranker_stub.ActivateMemory(request, timeout=milliseconds / 1e3)
        except grpc.RpcError as error:
            ids = [value for key, value in error.initial_metadata() or () if key == "ranktrail-run-id"]
            if not ids:
                continue
            run = recorded(stack.history_stub, ids[0])
            if run.run.state == FAILED and run.candidates:
                found = run
                break
    assert found is not None
    assert found.run.failure.code == "activation_deadline"
    assert found.run.failure.stage in {"embedding", "vector", "rrf", "rerank", "selection", "recording"}
    assert {candidate.exclusion_reason for candidate in found.candidates} == {RUN_FAILED}


def test_damaged_vectors_fail_the_run_with_its_candidates_and_the_index_is_rebuilt(stack: Stack) -> None:
    project = "damaged"
    remember(stack.ranker_stub, project, {"a.md": "# A\n\nThe pump drains the tank.\n", "b.md": "# B\n\nTank two.\n"})
    assert activate(stack, project).fragments
    for path in (stack.data_dir / "ranker" / "projects").glob("*/vectors/*/tokens.bin"):
        body = bytearray(path.read_bytes())
        for position in range(0, len(body), 64):
            body[position] ^= 0xFF
        with path.open("r+b") as file:
            file.write(body)
    refusal = refused(lambda: activate(stack, project))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.UNAVAILABLE, "RANKING_FAILED")
    assert (refusal.metadata["stage"], refusal.metadata["code"]) == ("rerank", "index_damaged")
    run = recorded(stack.history_stub, refusal.metadata["run_id"])
    assert (run.run.state, run.run.failure.code) == (FAILED, "index_damaged")
    assert len(run.candidates) == 2
    assert all(candidate.HasField("rrf_rank") for candidate in run.candidates)
    ensure_index(stack.ranker_stub, project)
    assert activate(stack, project).fragments


def test_clearing_a_project_leaves_its_runs_and_their_bodies(stack: Stack) -> None:
    project = "cleared"
    remember(stack.ranker_stub, project, {"a.md": "# A\n\nThe pump drains the tank.\n"})
    reply = activate(stack, project)
    stack.ranker_stub.ClearProjectStorage(pb.ClearProjectStorageRequest(project_id=project))
    stack.ranker_stub.DeleteProject(pb.DeleteProjectRequest(project_id=project))
    assert recorded(stack.history_stub, reply.run_id).run.state == SUCCEEDED
    request = history_pb.ReadRunResourceRequest(run_id=reply.run_id, resource_id="a.md")
    body = b"".join(part.content for part in stack.history_stub.ReadRunResource(request))
    assert body == b"# A\n\nThe pump drains the tank.\n"

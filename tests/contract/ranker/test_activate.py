"""ActivateMemory over a real socket."""

from collections.abc import Callable

import grpc
import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail.trace.v1 import trace_pb2
from tests.memories import commit_frames, ensure_index, remember
from tests.processes import Service
from tests.refusals import refused

PAGES = {
    "deploy.md": "# Deploy\n\nRun the release script on the build host.\n\n## Check\n\nWatch the error rate.\n",
    "pumps/valves.md": "# Valves\n\nClose the red valve before you drain the tank.\n",
    "pumps/code.py": "def drain(tank):\n    '''Drain the tank.'''\n    return tank.level - 1\n",
}
DELTA = trace_pb2.DeltaAction


def activate(
    stub: RankerServiceStub, project: str, query: str = "drain the tank", **fields: object
) -> pb.ActivateMemoryResponse:
    return stub.ActivateMemory(pb.ActivateMemoryRequest(project_id=project, query=query, **fields), timeout=60)


def test_a_reply_holds_whole_units_under_their_digests(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    reply = activate(stub, project)
    assert len(reply.run_id) == 26
    assert reply.fragments
    for fragment in reply.fragments:
        body = PAGES[fragment.path].encode()
        assert fragment.content.encode() == body[fragment.start_byte : fragment.end_byte]
        assert fragment.action == DELTA.DELTA_ACTION_ADD
        assert 0.0 <= fragment.relevance <= 1.0
    assert reply.query_token_count == reply.query_tokens_encoded == 3
    assert reply.revisions.resource_count == 3
    assert reply.revisions.ranking_profile.name == "activation.v1"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t\ufeff "}, "query"),
        ({"query": "q" * 8_193}, "query"),
        ({"project_id": ""}, "project_id"),
        ({"project_id": "p" * 513}, "project_id"),
        ({"project_id": "a\0b"}, "project_id"),
        ({"max_fragments": 0}, "max_fragments"),
        ({"token_budget": 0}, "token_budget"),
        ({"token_budget": -5}, "token_budget"),
        ({"profile": "no-such.v1"}, "profile"),
        ({"path_prefix": "p" * 1_025}, "path_prefix"),
        ({"kinds": ["k"] * 65}, "kinds"),
        ({"layers": [trace_pb2.LAYER_UNSPECIFIED]}, "layers"),
        ({"layers": [99]}, "layers"),
        ({"activation_state": b"s" * 65_537}, "activation_state"),
    ],
)
def test_a_bad_field_is_refused_by_name(stub: RankerServiceStub, fields: dict[str, object], field: str) -> None:
    request = pb.ActivateMemoryRequest(**{"project_id": "any", "query": "any", **fields})
    refusal = refused(lambda: stub.ActivateMemory(request, timeout=60))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")
    assert refusal.metadata["field"] == field
    assert field in refusal.message


def test_a_query_at_its_limit_is_answered_and_says_what_the_encoder_saw(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    reply = activate(stub, project, query=("drain " * 1_366)[:8_192])
    assert reply.query_tokens_encoded < reply.query_token_count


def test_text_that_is_not_utf8_is_refused_by_the_name_of_its_field(ranker: Service) -> None:
    assert ranker.channel is not None
    call = ranker.channel.unary_unary("/ranktrail.ranker.v1.RankerService/ActivateMemory")
    surrogate = b"\xed\xa0\xbd"
    for request, field in ((b"\x0a\x01p\x12\x03" + surrogate, "query"), (b"\x0a\x03" + surrogate, "project_id")):
        refusal = refused(lambda request=request: call(request, timeout=60))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")
        assert refusal.metadata["field"] == field


def test_an_unknown_project_is_a_failed_run_that_the_caller_can_find(stub: RankerServiceStub, project: str) -> None:
    refusal = refused(lambda: activate(stub, project))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "PROJECT_NOT_FOUND")
    assert refusal.metadata["project_id"] == project
    assert len(refusal.metadata["run_id"]) == 26


@pytest.mark.parametrize("state", [b"x", b"RTA\x01", b"\0" * 100, b"RTA\x01" + b"\xff" * 60])
def test_a_state_that_does_not_decode_is_a_failed_run(stub: RankerServiceStub, state: bytes) -> None:
    refusal = refused(lambda: activate(stub, "any", activation_state=state))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ACTIVATION_STATE")
    assert len(refusal.metadata["run_id"]) == 26


def test_a_cleared_project_stays_known_and_has_no_index(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    assert stub.ClearProjectStorage(pb.ClearProjectStorageRequest(project_id=project)).deleted_bytes > 0
    refusal = refused(lambda: activate(stub, project))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "INDEX_NOT_READY")
    assert refusal.metadata["run_id"]
    ensure_index(stub, project)
    assert activate(stub, project).revisions.resource_count == 0


def test_a_deleted_project_is_unknown(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    stub.DeleteProject(pb.DeleteProjectRequest(project_id=project))
    assert refused(lambda: activate(stub, project)).reason == "PROJECT_NOT_FOUND"
    remember(stub, project, PAGES)
    assert activate(stub, project).fragments


@pytest.mark.parametrize("pages", [{}, {"a.txt": " \n", "b.md": "\ufeff\n\t", "c.txt": ""}])
def test_a_memory_without_a_word_answers_with_nothing(
    stub: RankerServiceStub, project: str, pages: dict[str, str]
) -> None:
    remember(stub, project, pages)
    reply = activate(stub, project)
    assert list(reply.fragments) == []
    assert reply.revisions.unit_count == 0
    assert reply.revisions.resource_count == len(pages)


def test_a_caller_who_knows_units_is_told_what_changed(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    first = activate(stub, project)
    again = activate(stub, project, activation_state=first.next_activation_state)
    assert {fragment.action for fragment in again.fragments} == {DELTA.DELTA_ACTION_REUSE}
    assert not any(fragment.HasField("content") for fragment in again.fragments)
    edited = {**PAGES, "pumps/valves.md": PAGES["pumps/valves.md"].replace("red", "blue")}
    gone = {path: body for path, body in edited.items() if path != "pumps/code.py"}
    stub.CommitMemory(commit_frames(project, gone, mode=pb.CommitHeader.MODE_REPLACE_ALL))
    ensure_index(stub, project)
    changed = activate(stub, project, activation_state=again.next_activation_state)
    actions = {fragment.path: fragment.action for fragment in changed.fragments}
    assert actions["pumps/valves.md"] == DELTA.DELTA_ACTION_REPLACE
    assert [key.split("#")[0] for key in changed.removed] == ["pumps/code.py"]


def test_filters_restrict_what_is_returned(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    only = activate(stub, project, path_prefix="pumps/")
    assert {fragment.path for fragment in only.fragments} <= {"pumps/valves.md", "pumps/code.py"}
    assert list(activate(stub, project, kinds=["nothing"]).fragments) == []
    assert list(activate(stub, project, layers=[trace_pb2.LAYER_DRAFT]).fragments) == []
    assert len(activate(stub, project, max_fragments=1).fragments) == 1
    tight = activate(stub, project, token_budget=14)
    assert sum(fragment.token_count for fragment in tight.fragments) <= 14


def test_identical_requests_get_identical_replies(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    replies = [activate(stub, project) for _ in range(5)]
    for reply in replies:
        reply.run_id = ""
    assert all(reply == replies[0] for reply in replies)


def test_spellings_of_one_text_rank_alike(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, {"t.md": "東京タワーの高さ", "c.md": "café naïve", "x.md": "abc"})

    def first(query: str) -> list[str]:
        return [fragment.path for fragment in activate(stub, project, query=query).fragments][:1]

    assert first("東京") == ["t.md"]
    assert first("café") == first("cafe\u0301") == ["c.md"]
    assert first("ＡＢＣ") == first("abc") == ["x.md"]


def test_commits_builds_and_activations_may_all_happen_at_once(
    stub: RankerServiceStub, new_project: Callable[[], str]
) -> None:
    project = new_project()
    remember(stub, project, PAGES)
    futures = [
        stub.ActivateMemory.future(pb.ActivateMemoryRequest(project_id=project, query=f"tank {i}"), timeout=60)
        for i in range(20)
    ]
    for i in range(5):
        stub.CommitMemory(commit_frames(project, {f"new-{i}.md": f"# New {i}\n\ntank {i}\n"}), timeout=60)
    assert all(len(future.result().run_id) == 26 for future in futures)
    assert ensure_index(stub, project).unit_count == 8

"""CommitMemory, EnsureIndex and GetEffectiveMemory over a real socket."""

import hashlib
from collections.abc import Iterable, Iterator

import grpc
import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail.trace.v1 import trace_pb2
from tests.memories import FRAME_BYTES, commit_frames, ensure_index, remember, resource_frames
from tests.refusals import Refusal, refused

MIB = 1024 * 1024
LARGEST = 32 * MIB
PATCH, REPLACE = pb.CommitHeader.MODE_PATCH, pb.CommitHeader.MODE_REPLACE_ALL
Frames = Iterable[pb.CommitMemoryRequest]


def header(project: str, layer: trace_pb2.Layer = trace_pb2.LAYER_PROJECT, mode: int = PATCH) -> pb.CommitMemoryRequest:
    return pb.CommitMemoryRequest(header=pb.CommitHeader(project_id=project, layer=layer, mode=mode))


def end(resources: int = 0, deletions: int = 0) -> pb.CommitMemoryRequest:
    return pb.CommitMemoryRequest(end=pb.CommitEnd(resource_count=resources, deletion_count=deletions))


def refusal_of_commit(stub: RankerServiceStub, *frames: Frames | pb.CommitMemoryRequest) -> Refusal:
    def stream() -> Iterator[pb.CommitMemoryRequest]:
        for frame in frames:
            if isinstance(frame, pb.CommitMemoryRequest):
                yield frame
            else:
                yield from frame

    return refused(lambda: stub.CommitMemory(stream(), timeout=60))


def is_known(stub: RankerServiceStub, project: str) -> bool:
    try:
        stub.GetEffectiveMemory(pb.GetEffectiveMemoryRequest(project_id=project))
    except grpc.RpcError:
        return False
    return True


def resources(stub: RankerServiceStub, project: str, layer: trace_pb2.Layer | None = None) -> list[trace_pb2.Resource]:
    found: list[trace_pb2.Resource] = []
    token = ""
    while True:
        request = pb.GetEffectiveMemoryRequest(project_id=project, page_size=7, page_token=token, layer=layer)
        page = stub.GetEffectiveMemory(request)
        found += page.resources
        token = page.next_page_token
        if not token:
            assert page.resource_count == len(found)
            return found


def test_the_same_content_is_the_same_commit(stub: RankerServiceStub, project: str) -> None:
    first = stub.CommitMemory(commit_frames(project, {"a.md": "a", "b.md": "b"}))
    second = stub.CommitMemory(commit_frames(project, {"b.md": "b", "a.md": "a"}, mode=REPLACE))
    assert (first.added_count, first.parent_commit_id) == (2, "")
    assert (second.added_count, second.changed_count, second.deleted_count) == (0, 0, 0)
    assert second.commit_id == second.parent_commit_id == first.commit_id
    assert second.effective_memory_hash == first.effective_memory_hash


def test_a_patch_changes_what_it_names_and_a_replacement_everything(stub: RankerServiceStub, project: str) -> None:
    stub.CommitMemory(commit_frames(project, {"a.md": "a", "b.md": "b", "c.md": "c"}))
    patch = stub.CommitMemory(commit_frames(project, {"a.md": "A", "d.md": "d"}, deletions=["c.md"]))
    assert (patch.added_count, patch.changed_count, patch.deleted_count, patch.resource_count) == (1, 1, 1, 3)
    replacement = stub.CommitMemory(commit_frames(project, {"d.md": "d"}, mode=REPLACE))
    assert (replacement.deleted_count, replacement.resource_count) == (2, 1)
    assert [resource.path for resource in resources(stub, project)] == ["d.md"]


def test_layers_lie_over_one_another_by_path(stub: RankerServiceStub, project: str) -> None:
    bodies = {"organization": f"org {project}", "project": "project", "draft": "draft"}
    organization = trace_pb2.LAYER_ORGANIZATION
    name = f"{project}/guide.md"
    stub.CommitMemory(commit_frames("", {name: bodies["organization"]}, layer=organization))
    stub.CommitMemory(commit_frames(project, {name: bodies["project"]}))
    stub.CommitMemory(commit_frames(project, {name: bodies["draft"]}, layer=trace_pb2.LAYER_DRAFT))
    for layer, body in bodies.items():
        found = {r.path: r for r in resources(stub, project, trace_pb2.Layer.Value(f"LAYER_{layer.upper()}"))}
        assert found[name].digest == hashlib.sha256(body.encode()).hexdigest()
    effective = {r.path: r for r in resources(stub, project)}
    assert effective[name].layer == trace_pb2.LAYER_DRAFT
    stub.CommitMemory(commit_frames(project, {}, deletions=[name], layer=trace_pb2.LAYER_DRAFT))
    assert {r.path: r for r in resources(stub, project)}[name].layer == trace_pb2.LAYER_PROJECT
    stub.CommitMemory(commit_frames("", {}, deletions=[name], layer=organization))


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"path": "../secret.md"}, "FIELD_INVALID", "path"),
        ({"path": "a/../b.md"}, "FIELD_INVALID", "path"),
        ({"path": "/etc/passwd"}, "FIELD_INVALID", "path"),
        ({"path": "a\\b.md"}, "FIELD_INVALID", "path"),
        ({"path": ""}, "FIELD_INVALID", "path"),
        ({"path": "p" * 1_025}, "FIELD_INVALID", "path"),
        ({"resource_id": ""}, "FIELD_INVALID", "resource_id"),
        ({"resource_id": "r" * 513}, "FIELD_INVALID", "resource_id"),
        ({"kind": "k" * 65}, "FIELD_INVALID", "kind"),
        ({"title": "t" * 1_025}, "FIELD_INVALID", "title"),
        ({"media_type": "markdown"}, "FIELD_INVALID", "media_type"),
        ({"digest": "../../x"}, "FIELD_INVALID", "digest"),
        ({"digest": "0" * 64 + "\n"}, "FIELD_INVALID", "digest"),
        ({"digest": "A" * 64}, "FIELD_INVALID", "digest"),
        ({"digest": "\u0661" * 64}, "FIELD_INVALID", "digest"),
        ({"digest": "0" * 64}, "BLOB_DIGEST_MISMATCH", None),
    ],
)
def test_a_bad_resource_publishes_nothing(
    stub: RankerServiceStub, project: str, fields: dict[str, str], reason: str, field: str | None
) -> None:
    frames = list(resource_frames("page.md", b"text", **fields))
    refusal = refusal_of_commit(stub, header(project), resource_frames("good.md", b"good"), frames, end(2))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    assert refusal.metadata.get("field") == field
    assert not is_known(stub, project)


def test_a_commit_that_is_not_whole_publishes_nothing(stub: RankerServiceStub, project: str) -> None:
    page = list(resource_frames("page.md", b"text"))
    for frames in (
        [],
        [header(project)],
        [header(project), *page],
        [header(project), *page, end(2)],
        [header(project), *page, end(1, 1)],
        [header(project), *page, end(1), *page],
        [header(project), page[1], end(0)],
        [header(project), page[0], end(1)],
        [header(project), header(project), end(0)],
        [header(project), pb.CommitMemoryRequest(), end(0)],
        [header("", trace_pb2.LAYER_PROJECT), end(0)],
        [header(project, trace_pb2.LAYER_UNSPECIFIED), end(0)],
        [header(project, trace_pb2.LAYER_ORGANIZATION), end(0)],
        [header(project, mode=pb.CommitHeader.MODE_UNSPECIFIED), end(0)],
    ):
        assert refusal_of_commit(stub, frames).code == grpc.StatusCode.INVALID_ARGUMENT
        assert not is_known(stub, project)


def test_a_client_that_breaks_off_publishes_nothing(stub: RankerServiceStub, new_project: object) -> None:
    """GRPC sometimes shows the server of a broken stream a clean end; only the counts tell the two apart."""

    def broken(project: str) -> Iterator[pb.CommitMemoryRequest]:
        yield header(project)
        yield from resource_frames("page.md", b"text")
        raise RuntimeError("the client's generator fails")

    for i in range(60):
        project = f"broken-{i}"
        with pytest.raises(grpc.RpcError):
            stub.CommitMemory(broken(project), timeout=60)
        assert not is_known(stub, project)


def test_one_id_for_two_paths_is_a_conflict(stub: RankerServiceStub, project: str) -> None:
    frames = [*resource_frames("a.md", b"a", resource_id="same"), *resource_frames("b.md", b"b", resource_id="same")]
    refusal = refusal_of_commit(stub, header(project), frames, end(2))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "RESOURCE_ID_CONFLICT")
    assert refusal.metadata == {"resource_id": "same", "path": "b.md", "other_path": "a.md"}


def test_a_commit_on_another_head_than_expected_is_a_conflict(stub: RankerServiceStub, project: str) -> None:
    first = stub.CommitMemory(commit_frames(project, {"a.md": "a"}, expected_parent=""))
    stub.CommitMemory(commit_frames(project, {"a.md": "b"}, expected_parent=first.commit_id))
    refusal = refused(lambda: stub.CommitMemory(commit_frames(project, {"a.md": "c"}, expected_parent=first.commit_id)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "COMMIT_CONFLICT")
    assert refusal.metadata["expected"] == first.commit_id


def test_the_largest_resource_is_kept_and_one_byte_more_refused(stub: RankerServiceStub, project: str) -> None:
    body = b"\xff" * LARGEST
    stub.CommitMemory(commit_frames(project, {"large.bin": body}), timeout=120)
    assert resources(stub, project)[0].size_bytes == LARGEST
    refusal = refusal_of_commit(stub, header(project), resource_frames("larger.bin", body + b"\xff"), end(1))
    assert (refusal.reason, refusal.metadata["field"]) == ("FIELD_INVALID", "size_bytes")
    assert refusal.metadata["limit"] == str(LARGEST)
    assert len(resources(stub, project)) == 1


def test_a_frame_of_one_mebibyte_passes_and_a_longer_one_not(stub: RankerServiceStub, project: str) -> None:
    for extra, accepted in ((0, True), (1, False)):
        body = b"x" * (FRAME_BYTES + extra)
        head = next(resource_frames("page.txt", body))
        frames = [header(project), head, pb.CommitMemoryRequest(body=body), end(1)]
        if accepted:
            stub.CommitMemory(iter(frames), timeout=60)
        else:
            assert refusal_of_commit(stub, frames).metadata["field"] == "body"


def test_what_is_no_text_stays_in_the_manifest_and_is_not_ranked(stub: RankerServiceStub, project: str) -> None:
    remember(
        stub,
        project,
        {
            "latin.md": b"caf\xe9",
            "image.png": b"\x89PNG",
            "blank.md": b"\xef\xbb\xbf \n",
            "page.md": b"# Page\n\nText\n",
        },
    )
    states = {resource.path: resource.parse_state for resource in resources(stub, project)}
    assert states == {
        "latin.md": trace_pb2.PARSE_STATE_NOT_UTF8,
        "image.png": trace_pb2.PARSE_STATE_NO_PARSER,
        "blank.md": trace_pb2.PARSE_STATE_BLANK,
        "page.md": trace_pb2.PARSE_STATE_PARSED,
    }
    assert ensure_index(stub, project).unit_count == 1


def test_a_memory_is_paged_and_its_tokens_belong_to_one_request(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, {f"page-{i:02}.md": f"page {i}" for i in range(23)})
    assert [resource.resource_id for resource in resources(stub, project)] == [f"page-{i:02}.md" for i in range(23)]
    first = stub.GetEffectiveMemory(pb.GetEffectiveMemoryRequest(project_id=project, page_size=5))
    other = pb.GetEffectiveMemoryRequest(
        project_id=project, layer=trace_pb2.LAYER_PROJECT, page_token=first.next_page_token
    )
    for request in (other, pb.GetEffectiveMemoryRequest(project_id=project, page_token="?")):  # noqa: S106
        refusal = refused(lambda request=request: stub.GetEffectiveMemory(request))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "PAGE_TOKEN_INVALID")
    negative = refused(lambda: stub.GetEffectiveMemory(pb.GetEffectiveMemoryRequest(project_id=project, page_size=-1)))
    assert negative.metadata["field"] == "page_size"
    unknown = refused(lambda: stub.GetEffectiveMemory(pb.GetEffectiveMemoryRequest(project_id="unknown")))
    assert unknown.reason == "PROJECT_NOT_FOUND"


def test_waiting_for_an_index_tells_progress_and_ends_with_what_is_ready(stub: RankerServiceStub, project: str) -> None:
    committed = stub.CommitMemory(commit_frames(project, {f"p{i}.md": f"# P{i}\n\nText {i}.\n" for i in range(30)}))
    steps = list(stub.EnsureIndex(pb.EnsureIndexRequest(project_id=project), timeout=60))
    assert steps[-1].phase == "ready"
    assert steps[-1].effective_memory_hash == committed.effective_memory_hash
    assert steps[-1].unit_count == 30
    assert steps[-1].token_vector_bytes > 0
    assert {step.phase for step in steps[:-1]} <= {"parse", "encode", "index"}
    assert (
        refused(lambda: list(stub.EnsureIndex(pb.EnsureIndexRequest(project_id="unknown")))).reason
        == "PROJECT_NOT_FOUND"
    )

"""CommitMemory: one stream of frames becomes one commit, or nothing."""

from collections.abc import Iterator

from ranker_service.domain.errors import FieldInvalid
from ranker_service.domain.resource import EffectiveMemory, Layer
from ranker_service.memory.commits import Commit, CommitDraft, CommitMode
from ranker_service.rpc import convert
from ranker_service.rpc.frames import Frames
from ranker_service.workspace.workspace import Workspace
from ranktrail.ranker.v1 import ranker_service_pb2 as pb

_MODES = {
    pb.CommitHeader.MODE_REPLACE_ALL: CommitMode.REPLACE_ALL,
    pb.CommitHeader.MODE_PATCH: CommitMode.PATCH,
}


def commit(workspace: Workspace, requests: Iterator[pb.CommitMemoryRequest]) -> tuple[Commit, EffectiveMemory | None]:
    """Publish what the stream holds; raise FieldInvalid, and publish nothing, when it is not whole."""
    frames = Frames(requests, lambda frame: frame.WhichOneof("frame"))
    first = frames.take()
    if first is None or first[0] != "header":
        raise FieldInvalid("header", "must be the first frame of a commit")
    header: pb.CommitHeader = first[1].header
    layer, project_id, mode = _target(header)
    expected = header.expected_parent_commit_id if header.HasField("expected_parent_commit_id") else None
    with workspace.committing(project_id, layer, mode, expected) as draft:
        _fill(draft, frames)
        return workspace.publish(project_id, layer, draft)


def _target(header: pb.CommitHeader) -> tuple[Layer, str, CommitMode]:
    layer = convert.layer_of(header.layer)
    if layer is None:
        raise FieldInvalid("header.layer", "is required: organization, project or draft")
    mode = _MODES.get(header.mode)
    if mode is None:
        raise FieldInvalid("header.mode", "is required: replace_all or patch")
    if layer is not Layer.ORGANIZATION:
        return layer, convert.project_id(header.project_id), mode
    if header.project_id:
        raise FieldInvalid(
            "header.project_id", "must be empty for the organization layer, which applies to all projects"
        )
    return layer, "", mode


def _fill(draft: CommitDraft, frames: Frames[pb.CommitMemoryRequest]) -> None:
    resources = deletions = 0
    while (taken := frames.take()) is not None:
        kind, frame = taken
        if kind == "resource":
            draft.add(convert.draft_resource(frame.resource), frames.body())
            resources += 1
        elif kind == "delete_resource_id":
            draft.delete(frame.delete_resource_id)
            deletions += 1
        elif kind == "end":
            return _check_end(frame.end, resources, deletions, frames)
        else:
            raise FieldInvalid(kind, "does not belong here: a header comes first, a body after its resource")
    raise FieldInvalid("end", "is missing: the stream broke off, send the commit again")


def _check_end(end: pb.CommitEnd, resources: int, deletions: int, frames: Frames[pb.CommitMemoryRequest]) -> None:
    if (end.resource_count, end.deletion_count) != (resources, deletions):
        raise FieldInvalid("end", f"does not agree: {resources} resources and {deletions} deletions came")
    if frames.take() is not None:
        raise FieldInvalid("end", "must be the last frame")

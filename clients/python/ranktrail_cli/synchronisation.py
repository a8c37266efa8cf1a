"""Brings one layer of a memory to what a folder holds. Only what differs travels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail.trace.v1.trace_pb2 import Layer
from ranktrail_cli.folder import Skip, Skipped, list_folder, read_still
from ranktrail_cli.sizes import size_words
from ranktrail_client.client import Client
from ranktrail_client.errors import CommitConflict, ProjectNotFound, Unavailable
from ranktrail_client.frames import commit_frames, digest_of
from ranktrail_client.paging import pages

COMMIT_ATTEMPTS = 3
DEFAULT_KIND = "document"
READ_PHASE, SEND_PHASE, CASE_PHASE = OWN_PHASES = ("read", "send", "case")
"""What is no phase of the index; those the ranker names."""
READY_PHASE = "ready"


class Progress(Protocol):
    """Is told how far a long task is."""

    def step(self, phase: str, done: int, total: int) -> None:
        """`done` of `total` steps of `phase` are done; a `total` of 0 is not known."""

    def note(self, text: str) -> None:
        """Say something that is worth knowing before the task goes on."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a folder goes, and what its files are."""

    project_id: str
    layer: Layer.ValueType
    kind: str = DEFAULT_KIND
    prune: bool = False

    @property
    def owner(self) -> str:
        """The project that the layer belongs to; the organization's belongs to none."""
        return "" if self.layer == trace_pb2.LAYER_ORGANIZATION else self.project_id


@dataclass(frozen=True, slots=True)
class LayerHead:
    """A layer as it is committed."""

    commit_id: str
    resources: Mapping[str, trace_pb2.Resource]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a commit has to send and to delete."""

    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged_count: int


@dataclass(slots=True)
class SyncReport:
    """What a sync did."""

    commit_id: str = ""
    added_count: int = 0
    changed_count: int = 0
    deleted_count: int = 0
    unchanged_count: int = 0
    skips: list[Skip] = field(default_factory=list)
    effective_memory_hash: str = ""
    index_revision: str = ""
    unit_count: int = 0
    token_vector_bytes: int = 0

    @property
    def changed_anything(self) -> bool:
        """Whether the layer has another head now."""
        return self.added_count + self.changed_count + self.deleted_count > 0


def sync_folder(client: Client, folder: Path, target: Target, progress: Progress) -> SyncReport:
    """Commit what differs and wait for the index. Raises OSError when the folder cannot be read, and RanktrailError."""
    listing = list_folder(folder)
    report = SyncReport(skips=listing.skips)
    digests = _digests(folder, listing.paths, report, progress)
    _commit_differences(client, folder, target, digests, report, progress)
    if target.layer == trace_pb2.LAYER_ORGANIZATION:
        _make_known(client, target.project_id)
    index = ensure_index(client, target.project_id, progress)
    report.index_revision, report.unit_count = index.index_revision, index.unit_count
    report.effective_memory_hash = index.effective_memory_hash
    report.token_vector_bytes = index.token_vector_bytes
    return report


def _digests(folder: Path, paths: list[str], report: SyncReport, progress: Progress) -> dict[str, str]:
    digests = {}
    for done, path in enumerate(paths):
        progress.step(READ_PHASE, done, len(paths))
        try:
            digests[path] = digest_of(read_still(folder / path))
        except Skipped as skipped:
            report.skips.append(Skip(path, str(skipped)))
    progress.step(READ_PHASE, len(paths), len(paths))
    return digests


def _commit_differences(
    client: Client, folder: Path, target: Target, digests: Mapping[str, str], report: SyncReport, progress: Progress
) -> None:
    for attempts_left in reversed(range(COMMIT_ATTEMPTS)):
        try:
            head = read_layer(client, target)
            plan = make_plan(target, digests, head, report.skips)
            report.commit_id, report.unchanged_count = head.commit_id, plan.unchanged_count
            # The first commit, even an empty one, is what makes a project known.
            if plan.changed or plan.deleted or (target.owner and not head.commit_id):
                _commit(client, folder, target, plan, head, report, progress)
        except CommitConflict:
            if not attempts_left:
                raise
        else:
            return


def read_layer(client: Client, target: Target) -> LayerHead:
    """Return the layer's head; raise CommitConflict when it moves while its pages are read."""
    request = pb.GetEffectiveMemoryRequest(project_id=target.owner, layer=target.layer)
    resources: dict[str, trace_pb2.Resource] = {}
    heads: set[str] = set()
    try:
        for page in pages(client.ranker.get_effective_memory, request):
            heads.add(page.commit_id)
            resources.update((resource.resource_id, resource) for resource in page.resources)
    except ProjectNotFound:
        return LayerHead("", {})
    if len(heads) != 1:
        raise CommitConflict("the layer changed while it was read: sync again")
    return LayerHead(heads.pop(), resources)


def make_plan(target: Target, digests: Mapping[str, str], head: LayerHead, skips: list[Skip]) -> Plan:
    """Compare a folder with a layer. What was skipped is still there, so that it is never pruned."""
    changed = tuple(path for path, digest in digests.items() if _differs(head.resources.get(path), digest, target.kind))
    kept = {skip.path for skip in skips}
    gone = (key for key in head.resources if key not in digests and kept.isdisjoint(_path_and_parents(key)))
    return Plan(changed, tuple(gone) if target.prune else (), len(digests) - len(changed))


def _differs(committed: trace_pb2.Resource | None, digest: str, kind: str) -> bool:
    return committed is None or committed.digest != digest or committed.kind != kind


def _path_and_parents(path: str) -> Iterator[str]:
    yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _commit(
    client: Client,
    folder: Path,
    target: Target,
    plan: Plan,
    head: LayerHead,
    report: SyncReport,
    progress: Progress,
) -> None:
    header = pb.CommitHeader(
        project_id=target.owner,
        layer=target.layer,
        mode=pb.CommitHeader.MODE_PATCH,
        expected_parent_commit_id=head.commit_id,
    )
    bodies = _bodies(folder, target, plan, report, progress)
    response = client.ranker.commit_memory(commit_frames(header, bodies, plan.deleted))
    report.commit_id = response.commit_id
    report.added_count = response.added_count
    report.changed_count = response.changed_count
    report.deleted_count = response.deleted_count


def _bodies(
    folder: Path, target: Target, plan: Plan, report: SyncReport, progress: Progress
) -> Iterator[tuple[pb.ResourceHeader, bytes]]:
    """Read each file anew: header and body then agree, whatever became of it since it was compared."""
    for done, path in enumerate(plan.changed):
        progress.step(SEND_PHASE, done, len(plan.changed))
        try:
            body = read_still(folder / path)
        except Skipped as skipped:
            report.skips.append(Skip(path, str(skipped)))
        else:
            yield pb.ResourceHeader(resource_id=path, path=path, kind=target.kind), body
    progress.step(SEND_PHASE, len(plan.changed), len(plan.changed))


def _make_known(client: Client, project_id: str) -> None:
    """Commit nothing to a project that nobody has committed to: the organization's layer then reaches it."""
    try:
        client.ranker.get_effective_memory(pb.GetEffectiveMemoryRequest(project_id=project_id, page_size=1))
    except ProjectNotFound:
        header = pb.CommitHeader(project_id=project_id, layer=trace_pb2.LAYER_PROJECT, mode=pb.CommitHeader.MODE_PATCH)
        client.ranker.commit_memory(commit_frames(header))


def ensure_index(client: Client, project_id: str, progress: Progress) -> pb.EnsureIndexResponse:
    """Wait for the project's index and return what is said of it last; raise Unavailable when it is not complete."""
    last, is_size_known = pb.EnsureIndexResponse(), False
    for last in client.ranker.ensure_index(pb.EnsureIndexRequest(project_id=project_id)):
        if last.token_vector_bytes and last.phase != READY_PHASE and not is_size_known:
            is_size_known = True
            progress.note(f"the token vectors of this index will take about {size_words(last.token_vector_bytes)}")
        progress.step(last.phase, last.done_count, last.total_count)
    if not last.index_revision:
        raise Unavailable(f"the index of project {project_id!r} is not complete: sync again, or see `ranktrail status`")
    return last

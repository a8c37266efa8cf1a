"""A folder against a layer: only what differs travels."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli import synchronisation
from ranktrail_cli.folder import Skip, Skipped
from ranktrail_cli.progress import Silence
from ranktrail_cli.synchronisation import LayerHead, SyncReport, Target, make_plan, sync_folder
from ranktrail_client.client import Client
from ranktrail_client.errors import CommitConflict
from tests.fakes.services import FakeRanker, served

PROJECT = Target("p", trace_pb2.LAYER_PROJECT)
ORGANIZATION = Target("p", trace_pb2.LAYER_ORGANIZATION)
PRUNED = Target("p", trace_pb2.LAYER_PROJECT, prune=True)


class Scene:
    """A folder, a ranker and a client of it."""

    def __init__(self, folder: Path, ranker: FakeRanker, client: Client) -> None:
        self.folder, self.ranker, self.client = folder, ranker, client

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / f"{name}.md").write_text(text)

    def sync(self, target: Target = PROJECT) -> SyncReport:
        return sync_folder(self.client, self.folder, target, Silence())

    def sent(self) -> list[str]:
        """Return what travelled in the last commit."""
        return [frame.resource.resource_id for frame in self.ranker.commits[-1] if frame.HasField("resource")]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    ranker, folder = FakeRanker(), tmp_path / "folder"
    folder.mkdir()
    with served(tmp_path, ranker, None), Client.connect(tmp_path) as client:
        yield Scene(folder, ranker, client)


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added_count, report.changed_count, report.deleted_count, report.unchanged_count


def test_only_changed_resources_travel(scene: Scene) -> None:
    scene.write(a="1", b="2", c="3", d="4")
    assert counts(scene.sync()) == (4, 0, 0, 0)
    scene.write(b="two", e="5")
    assert counts(scene.sync()) == (1, 1, 0, 3)
    assert scene.sent() == ["b.md", "e.md"]


def test_nothing_is_committed_when_nothing_changed_and_the_index_is_waited_for(scene: Scene) -> None:
    scene.write(a="1")
    scene.sync()
    report = scene.sync()
    assert counts(report) == (0, 0, 0, 1)
    assert (len(scene.ranker.commits), report.index_revision, report.unit_count) == (1, "i1", 7)


def test_another_kind_is_a_change(scene: Scene) -> None:
    scene.write(a="1")
    scene.sync()
    assert counts(scene.sync(Target("p", trace_pb2.LAYER_PROJECT, kind="code"))) == (0, 1, 0, 0)


def test_a_resource_without_its_file_goes_only_when_pruned(scene: Scene) -> None:
    scene.write(a="1", b="2")
    scene.sync()
    (scene.folder / "b.md").unlink()
    assert counts(scene.sync()) == (0, 0, 0, 1)
    assert counts(scene.sync(PRUNED)) == (0, 0, 1, 1)
    assert list(scene.ranker.layers["p", trace_pb2.LAYER_PROJECT]) == ["a.md"]


def test_what_was_skipped_is_still_there_and_is_never_pruned() -> None:
    held = {
        key: trace_pb2.Resource(resource_id=key, kind="document") for key in ("a/x.md", "ab.md", "big.md", "gone.md")
    }
    skips = [Skip("a", "cannot be read"), Skip("big.md", "too big")]
    assert make_plan(PRUNED, {}, LayerHead("c", held), skips).deleted == ("ab.md", "gone.md")


def test_an_empty_folder_makes_its_project_known(scene: Scene) -> None:
    assert counts(scene.sync()) == (0, 0, 0, 0)
    assert ("p", trace_pb2.LAYER_PROJECT) in scene.ranker.layers


def test_an_organization_layer_belongs_to_no_project_and_makes_the_project_known(scene: Scene) -> None:
    scene.write(a="1")
    scene.sync(ORGANIZATION)
    assert list(scene.ranker.layers) == [("", trace_pb2.LAYER_ORGANIZATION), ("p", trace_pb2.LAYER_PROJECT)]
    assert scene.ranker.layers["p", trace_pb2.LAYER_PROJECT] == {}
    scene.sync(ORGANIZATION)
    assert len(scene.ranker.commits) == 2


def test_somebody_else_s_commit_is_read_and_the_sync_repeated(scene: Scene) -> None:
    scene.write(a="1")
    scene.ranker.conflicts = 2
    assert counts(scene.sync()) == (1, 0, 0, 0)


def test_a_conflict_that_stays_is_told(scene: Scene) -> None:
    scene.write(a="1")
    scene.ranker.conflicts = 99
    with pytest.raises(CommitConflict):
        scene.sync()
    assert len(scene.ranker.commits) == synchronisation.COMMIT_ATTEMPTS


def test_a_file_that_goes_between_compare_and_send_is_a_named_skip_and_the_commit_is_whole(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.write(a="1", b="2")
    read, reads = synchronisation.read_still, [0]

    def read_until_it_goes(location: Path) -> bytes:
        reads[0] += 1
        if reads[0] > 2 and location.name == "a.md":
            raise Skipped("it cannot be read: no such file or directory")
        return read(location)

    monkeypatch.setattr(synchronisation, "read_still", read_until_it_goes)
    report = scene.sync()
    assert counts(report)[0] == 1
    assert [skip.path for skip in report.skips] == ["a.md"]
    assert scene.ranker.commits[0][-1].end.resource_count == 1


def test_a_file_that_changes_between_compare_and_send_travels_with_the_digest_of_its_bytes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.write(a="1")
    bodies = iter([b"old", b"new"])
    monkeypatch.setattr(synchronisation, "read_still", lambda _: next(bodies))
    scene.sync()
    frames = scene.ranker.commits[0]
    assert frames[2].body == b"new"
    assert frames[1].resource.digest == synchronisation.digest_of(b"new")


def test_a_commit_names_the_head_that_was_compared_with(scene: Scene) -> None:
    scene.write(a="1")
    first = scene.sync()
    scene.write(a="2")
    scene.sync()
    header: pb.CommitHeader = scene.ranker.commits[1][0].header
    assert header.expected_parent_commit_id == first.commit_id
    assert header.mode == pb.CommitHeader.MODE_PATCH

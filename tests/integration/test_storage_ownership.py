"""Who may write to a project's storage while it is cleared, deleted, built, or damaged."""

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail.trace.v1 import trace_pb2
from tests.contract.ranker.test_rank_corpus import corpus_frames
from tests.memories import commit_frames, ensure_index, remember
from tests.processes import Service, short_directory
from tests.refusals import refused

PAGES = {f"page-{i}.md": f"# Page {i}\n\n" + f"Pump {i} drains tank {i % 5}. " * 12 for i in range(30)}


@pytest.fixture(scope="module")
def ranker() -> Iterator[Service]:
    with short_directory() as directory:
        service = Service("ranker_service", directory)
        try:
            service.start()
            yield service
        finally:
            service.kill()


@pytest.fixture
def stub(ranker: Service) -> RankerServiceStub:
    assert ranker.channel is not None
    return RankerServiceStub(ranker.channel)


def activate(stub: RankerServiceStub, project: str) -> pb.ActivateMemoryResponse:
    return stub.ActivateMemory(pb.ActivateMemoryRequest(project_id=project, query="pump and tank"), timeout=60)


def test_a_commit_beside_a_deletion_is_whole_or_gone(stub: RankerServiceStub) -> None:
    for i in range(3):
        project = f"deleted-{i}"
        stub.CommitMemory(commit_frames(project, PAGES))
        deletion = threading.Thread(target=lambda p=project: stub.DeleteProject(pb.DeleteProjectRequest(project_id=p)))
        deletion.start()
        time.sleep(0.02 * i)
        commit = stub.CommitMemory.future(commit_frames(project, {"new.md": "# New\n\nA pump.\n"}), timeout=60)
        assert commit.code() in {grpc.StatusCode.OK, grpc.StatusCode.ABORTED}
        deletion.join()
        known = project in {runtime.project_id for runtime in stub.GetRuntime(pb.GetRuntimeRequest()).projects}
        if known:
            ensure_index(stub, project)
            assert activate(stub, project).revisions.resource_count == 1
        else:
            assert refused(lambda p=project: activate(stub, p)).reason == "PROJECT_NOT_FOUND"


def test_a_project_deleted_before_its_build_began_can_be_committed_and_built_again(stub: RankerServiceStub) -> None:
    many = {f"{i}-{path}": body + str(i) for i in range(4) for path, body in PAGES.items()}
    stub.CommitMemory(commit_frames("long", many))
    stub.CommitMemory(commit_frames("again", {"a.md": "# A\n\nA pump.\n"}))
    stub.DeleteProject(pb.DeleteProjectRequest(project_id="again"))
    stub.CommitMemory(commit_frames("again", {"a.md": "# A\n\nA pump.\n"}))
    ensure_index(stub, "again")
    stub.CommitMemory(commit_frames("again", {"b.md": "# B\n\nA tank.\n"}))
    assert ensure_index(stub, "again").unit_count == 2
    assert len(activate(stub, "again").fragments) == 2


def test_a_caller_who_leaves_a_corpus_being_encoded_leaves_no_trace_in_a_project(stub: RankerServiceStub) -> None:
    texts = {f"{i}.txt": f"Sentence number {i} about valve {i * 7}." for i in range(1_500)}
    stream = stub.RankCorpus(corpus_frames(texts, "valve"))
    for response in stream:
        if response.progress.phase == "encode":
            break
    stream.cancel()
    time.sleep(0.2)
    remember(stub, "victim", PAGES)
    time.sleep(1)
    assert activate(stub, "victim").fragments


@pytest.mark.parametrize("method", ["ClearProjectStorage", "DeleteProject"])
def test_a_commit_that_was_open_when_its_layer_went_is_a_conflict(stub: RankerServiceStub, method: str) -> None:
    project = f"open-{method}"
    remember(stub, project, {"a.md": "# A\n\nA pump.\n"})
    gone = threading.Event()

    def frames() -> Iterator[pb.CommitMemoryRequest]:
        first, *rest = commit_frames(project, {"b.md": "# B\n\nA tank.\n"})
        yield first
        assert gone.wait(30)
        yield from rest

    call = stub.CommitMemory.future(frames(), timeout=60)
    time.sleep(0.3)
    request = {"ClearProjectStorage": pb.ClearProjectStorageRequest, "DeleteProject": pb.DeleteProjectRequest}[method]
    getattr(stub, method)(request(project_id=project), timeout=60)
    gone.set()
    refusal = refused(call.result)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "COMMIT_CONFLICT")


def test_refused_first_commits_leave_nothing_behind(stub: RankerServiceStub, ranker: Service) -> None:
    projects = ranker.data_dir / "ranker" / "projects"
    before = set(projects.iterdir())
    for i in range(5):
        frames = list(commit_frames(f"refused-{i}", {"a.md": "a"}))[:-1]
        refused(lambda frames=frames: stub.CommitMemory(iter(frames)))
    assert set(projects.iterdir()) == before


@pytest.mark.parametrize(
    "toml", [".".join(["a"] * 30_000) + "=1", "a=" + "[" * 30_000, "{a=" * 15_000, "name=" + "9" * 6_000, "a=[[["]
)
def test_a_profile_that_a_parser_chokes_on_has_a_problem_and_no_failure(stub: RankerServiceStub, toml: str) -> None:
    answer = stub.ValidateProfile(pb.ValidateProfileRequest(toml=toml), timeout=10)
    assert len(answer.problems) == 1


def test_damage_costs_one_part_and_never_the_start() -> None:
    with short_directory() as directory:
        service = Service("ranker_service", directory)
        service.start()
        try:
            stub = RankerServiceStub(service.channel)
            for project in ("whole", "torn", "pointer"):
                remember(stub, project, PAGES)
            service.kill()
            _damage(directory / "ranker")
            service.start()
            stub = RankerServiceStub(service.channel)
            ensure_index(stub, "pointer")
            assert activate(stub, "pointer").fragments
            ensure_index(stub, "whole")
            assert activate(stub, "whole").fragments
            assert refused(lambda: activate(stub, "torn")).reason == "PROJECT_NOT_FOUND"
            assert service.stop() == 0
        finally:
            service.kill()
        assert list((directory / "ranker" / "projects").glob("*/layers/project/head")), "no commit is deleted"


def _damage(ranker: Path) -> None:
    for identity in (ranker / "projects").glob("*/project.json"):
        if b"torn" in identity.read_bytes():
            identity.write_bytes(b'{"project')
        if b"pointer" in identity.read_bytes():
            (identity.parent / "indexes" / "current").write_bytes(b"\xff\xfe")
        if b"whole" in identity.read_bytes():
            shutil.rmtree(identity.parent / "indexes")
            (identity.parent / "indexes").symlink_to(ranker / "spool")
            (identity.parent / "layers" / "project" / "incoming" / "stray").write_bytes(b"")
    (ranker / "encoder.json").write_bytes(b'{"dty')
    (ranker / "profiles").mkdir(exist_ok=True)
    (ranker / "profiles" / "x.toml").write_text("a=" + "[" * 9_000)


def test_a_stop_while_an_index_is_built_is_clean(stub: RankerServiceStub) -> None:
    with short_directory() as directory:
        service = Service("ranker_service", directory)
        service.start()
        own = RankerServiceStub(service.channel)
        own.CommitMemory(commit_frames("p", PAGES, layer=trace_pb2.LAYER_PROJECT))
        service.send(signal.SIGTERM)
        assert service.stop() == 0

"""The cases of RankerService."""

from collections.abc import Iterable, Iterator
from typing import Any

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from tests.memories import commit_frames, resource_frames
from tests.rpc_cases.case import Requests, RpcCases
from tests.rpc_cases.world import PAGES, World


def _activation(project_id: str, **fields: Any) -> list[pb.ActivateMemoryRequest]:
    return [pb.ActivateMemoryRequest(**{"project_id": project_id, "query": "drain the tank", **fields})]


def _is_reply(responses: list[Any]) -> bool:
    (reply,) = responses
    return len(reply.run_id) == 26 and len(reply.fragments) > 0


def _without_index(world: World) -> Iterable[Any]:
    project_id = world.committed()
    world.stack.ranker_stub.ClearProjectStorage(pb.ClearProjectStorageRequest(project_id=project_id))
    return _activation(project_id)


def _damaged_vectors(world: World) -> Iterable[Any]:
    project_id = world.new_project()
    for path in world.project_directory(project_id).glob("vectors/*/tokens.bin"):
        path.write_bytes(bytes(byte ^ 0xFF for byte in path.read_bytes()))
    return _activation(project_id)


def _unbuildable(world: World) -> Iterable[Any]:
    """Damage a body while its build waits for another one."""
    slow = {f"{number}.md": f"# Page {number}\n\n" + f"word{number} " * 100 for number in range(40)}
    world.stack.ranker_stub.CommitMemory(commit_frames(world.new("slow"), slow))
    project_id = world.committed()
    (body,) = (path for path in world.project_directory(project_id).glob("layers/project/bodies/*/*"))
    body.write_bytes(b"damaged")
    return [pb.EnsureIndexRequest(project_id=project_id)]


def _commit(*resources: Iterable[pb.CommitMemoryRequest], count: int) -> Requests:
    def frames(world: World) -> Iterator[pb.CommitMemoryRequest]:
        whole = list(commit_frames(world.new("project"), {}))
        yield whole[0]
        for resource in resources:
            yield from resource
        yield pb.CommitMemoryRequest(end=pb.CommitEnd(resource_count=count))

    return frames


def _corpus(*queries: str, body: str = PAGES["a.md"]) -> Requests:
    def frames(_world: World) -> Iterator[pb.RankCorpusRequest]:
        yield pb.RankCorpusRequest(header=pb.RankCorpusHeader())
        head, *_ = resource_frames("a.md", PAGES["a.md"].encode())
        resource = pb.CorpusResource(resource=head.resource, layer=trace_pb2.LAYER_PROJECT)
        yield pb.RankCorpusRequest(resource=resource)
        yield pb.RankCorpusRequest(body=body.encode())
        for query in queries:
            yield pb.RankCorpusRequest(query=pb.CorpusQuery(query_id="q", query=query))

    return frames


def _freed(responses: list[Any]) -> bool:
    return bool(responses[0].deleted_bytes > 0)


def _of_nobody(request: type[Any]) -> dict[str, Requests]:
    return {"PROJECT_NOT_FOUND": lambda world: [request(project_id=world.new("nobody"))]}


_RANKER = "ranktrail.ranker.v1.RankerService"
CASES = {
    f"{_RANKER}.ActivateMemory": RpcCases(
        requests=lambda world: _activation(world.project),
        answers=_is_reply,
        refusals={
            "FIELD_INVALID": lambda _world: _activation("any", query=" "),
            "PROJECT_NOT_FOUND": lambda world: _activation(world.new("nobody")),
            "INVALID_ACTIVATION_STATE": lambda _world: _activation("any", activation_state=b"x"),
            "INDEX_NOT_READY": _without_index,
            "RANKING_FAILED": _damaged_vectors,
        },
    ),
    f"{_RANKER}.CommitMemory": RpcCases(
        requests=lambda world: commit_frames(world.new("project"), PAGES),
        answers=lambda responses: responses[0].added_count == 1,
        refusals={
            "FIELD_INVALID": lambda world: list(commit_frames(world.new("project"), PAGES))[:-1],
            "RESOURCE_ID_CONFLICT": _commit(
                resource_frames("a", b"a", resource_id="same"), resource_frames("b", b"b", resource_id="same"), count=2
            ),
            "BLOB_DIGEST_MISMATCH": _commit(resource_frames("a", b"a", digest="0" * 64), count=1),
            "COMMIT_CONFLICT": lambda world: commit_frames(world.project, PAGES, expected_parent="0" * 64),
        },
    ),
    f"{_RANKER}.EnsureIndex": RpcCases(
        requests=lambda world: [pb.EnsureIndexRequest(project_id=world.project)],
        answers=lambda responses: responses[-1].phase == "ready",
        refusals={**_of_nobody(pb.EnsureIndexRequest), "RANKING_FAILED": _unbuildable},
    ),
    f"{_RANKER}.GetEffectiveMemory": RpcCases(
        requests=lambda world: [pb.GetEffectiveMemoryRequest(project_id=world.project)],
        answers=lambda responses: [resource.path for resource in responses[0].resources] == ["a.md"],
        refusals={
            **_of_nobody(pb.GetEffectiveMemoryRequest),
            "PAGE_TOKEN_INVALID": lambda world: [
                pb.GetEffectiveMemoryRequest(project_id=world.project, page_token="?")  # noqa: S106
            ],
        },
    ),
    f"{_RANKER}.RankCorpus": RpcCases(
        requests=_corpus("drain"),
        answers=lambda responses: responses[-1].result.candidate_count == 1,
        refusals={"FIELD_INVALID": _corpus(" "), "BLOB_DIGEST_MISMATCH": _corpus(body="x" * len(PAGES["a.md"]))},
    ),
    f"{_RANKER}.ClearProjectStorage": RpcCases(
        requests=lambda world: [pb.ClearProjectStorageRequest(project_id=world.committed())],
        answers=_freed,
        refusals=_of_nobody(pb.ClearProjectStorageRequest),
    ),
    f"{_RANKER}.DeleteProject": RpcCases(
        requests=lambda world: [pb.DeleteProjectRequest(project_id=world.committed())],
        answers=_freed,
        refusals=_of_nobody(pb.DeleteProjectRequest),
    ),
    f"{_RANKER}.ListProfiles": RpcCases(
        requests=lambda _world: [pb.ListProfilesRequest()],
        answers=lambda responses: [p.is_default for p in responses[0].profiles].count(True) == 1,
    ),
    f"{_RANKER}.ValidateProfile": RpcCases(
        requests=lambda _world: [pb.ValidateProfileRequest(toml="name = 1")],
        answers=lambda responses: bool(responses[0].problems),
    ),
    f"{_RANKER}.CheckMemory": RpcCases(
        requests=lambda _world: [pb.CheckMemoryRequest()],
        answers=lambda responses: responses[-1].event.HasField("end"),
    ),
    f"{_RANKER}.BackupMemory": RpcCases(
        requests=lambda _world: [pb.BackupMemoryRequest()],
        answers=lambda responses: responses[0].frame.HasField("start") and responses[-1].frame.HasField("end"),
    ),
    f"{_RANKER}.GetRuntime": RpcCases(
        requests=lambda _world: [pb.GetRuntimeRequest()],
        answers=lambda responses: responses[0].contract_version == "v1.0",
    ),
}

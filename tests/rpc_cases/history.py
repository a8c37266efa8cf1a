"""The cases of HistoryService."""

from collections.abc import Iterable, Iterator
from typing import Any

from ranktrail.history.v1 import history_service_pb2 as pb
from tests.history_builders import Corpus, a_corpus, a_resource, a_run
from tests.rpc_cases.case import Requests, RpcCases
from tests.rpc_cases.world import World


def _corpus(world: World) -> Iterator[pb.PutCorpusRequest]:
    corpus = a_corpus({"guide": world.new("body").encode()})
    yield from corpus.manifest_frames()
    yield from corpus.blob_frames(list(corpus.bodies))


def _mismatch(world: World) -> Iterator[pb.PutCorpusRequest]:
    body = world.new("body").encode()
    corpus = Corpus("demo", [a_resource("guide", body)], {})
    yield from corpus.manifest_frames()
    part = pb.BlobPart(digest=corpus.resources[0].digest, content=b"x" * len(body))
    yield pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=[part]))


def _damaged_resource(world: World) -> Iterable[Any]:
    bodies = world.new_body()
    run_id = world.run(bodies=bodies, candidates=1)
    world.damage(bodies["doc-0001"])
    return [pb.ReadRunResourceRequest(run_id=run_id, resource_id="doc-0001")]


def _of_no_run(request: type[Any], **fields: Any) -> dict[str, Requests]:
    return {"RUN_NOT_FOUND": lambda world: [request(run_id=world.new("nobody"), **fields)]}


_HISTORY = "ranktrail.history.v1.HistoryService"
CASES = {
    f"{_HISTORY}.RecordRetrievalRuns": RpcCases(
        requests=lambda world: a_run(world.new("run"), candidates=0),
        answers=lambda responses: [answer.WhichOneof("outcome") for answer in responses] == ["recorded"],
    ),
    f"{_HISTORY}.PutCorpus": RpcCases(
        requests=_corpus,
        answers=lambda responses: responses[-1].stored.written_blob_count == 1,
        refusals={
            "FIELD_INVALID": lambda _world: [pb.PutCorpusRequest()],
            "BLOB_DIGEST_MISMATCH": _mismatch,
        },
    ),
    f"{_HISTORY}.ListRetrievalRuns": RpcCases(
        requests=lambda world: [pb.ListRetrievalRunsRequest(page_size=1, project_id=world.project_of_a_run())],
        answers=lambda responses: len(responses[0].runs) == 1,
        refusals={
            "FIELD_INVALID": lambda _world: [pb.ListRetrievalRunsRequest(page_size=-1)],
            "PAGE_TOKEN_INVALID": lambda _world: [pb.ListRetrievalRunsRequest(page_token="?")],  # noqa: S106
        },
    ),
    f"{_HISTORY}.GetRetrievalRun": RpcCases(
        requests=lambda world: [pb.GetRetrievalRunRequest(run_id=world.run())],
        answers=lambda responses: len(responses[0].candidates) == 3,
        refusals=_of_no_run(pb.GetRetrievalRunRequest),
    ),
    f"{_HISTORY}.ListRunResources": RpcCases(
        requests=lambda world: [pb.ListRunResourcesRequest(run_id=world.run())],
        answers=lambda responses: responses[0].resource_count == len(responses[0].resources) == 6,
        refusals={
            **_of_no_run(pb.ListRunResourcesRequest),
            "PAGE_TOKEN_INVALID": lambda world: [
                pb.ListRunResourcesRequest(run_id=world.run(), page_token="?")  # noqa: S106
            ],
        },
    ),
    f"{_HISTORY}.ReadRunResource": RpcCases(
        requests=lambda world: [pb.ReadRunResourceRequest(run_id=world.run(), resource_id="doc-0001")],
        answers=lambda responses: b"".join(response.content for response in responses) == b"body 1",
        refusals={
            **_of_no_run(pb.ReadRunResourceRequest, resource_id="doc-0001"),
            "RESOURCE_NOT_FOUND": lambda world: [pb.ReadRunResourceRequest(run_id=world.run(), resource_id="doc-9999")],
            "BLOB_CORRUPT": _damaged_resource,
        },
    ),
    f"{_HISTORY}.WatchRetrievalRuns": RpcCases(
        requests=lambda _world: [pb.WatchRetrievalRunsRequest()],
        answers=lambda responses: not responses[0].HasField("run"),
        endless=True,
    ),
    f"{_HISTORY}.ClearRetrievalRuns": RpcCases(
        requests=lambda world: [pb.ClearRetrievalRunsRequest(project_id=world.project_of_a_run(), dry_run=True)],
        answers=lambda responses: responses[0].deleted_run_count == 1,
    ),
    f"{_HISTORY}.CheckStore": RpcCases(
        requests=lambda _world: [pb.CheckStoreRequest()],
        answers=lambda responses: responses[-1].event.HasField("end"),
    ),
    f"{_HISTORY}.BackupStore": RpcCases(
        requests=lambda _world: [pb.BackupStoreRequest()],
        answers=lambda responses: responses[0].frame.HasField("start") and responses[-1].frame.HasField("end"),
    ),
    f"{_HISTORY}.GetRuntime": RpcCases(
        requests=lambda _world: [pb.GetRuntimeRequest()],
        answers=lambda responses: responses[0].schema_version == 18,
    ),
}

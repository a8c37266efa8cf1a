"""RankCorpus over a real socket."""

import hashlib
from collections.abc import Iterator, Mapping

import grpc
import pytest

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail.trace.v1 import trace_pb2
from tests.memories import remember
from tests.refusals import refused

PAGES = {"a.md": "# Alpha\n\nThe red pump drains the tank.\n", "b.md": "# Beta\n\nThe blue valve fills it.\n"}


def corpus_frames(pages: Mapping[str, str], *queries: str, project: str = "") -> Iterator[pb.RankCorpusRequest]:
    yield pb.RankCorpusRequest(header=pb.RankCorpusHeader(project_id=project))
    for path, text in pages.items():
        body = text.encode()
        head = pb.ResourceHeader(
            resource_id=path, path=path, size_bytes=len(body), digest=hashlib.sha256(body).hexdigest()
        )
        yield pb.RankCorpusRequest(resource=pb.CorpusResource(resource=head, layer=trace_pb2.LAYER_PROJECT))
        yield pb.RankCorpusRequest(body=body)
    for query in queries:
        yield pb.RankCorpusRequest(query=pb.CorpusQuery(query_id=f"id of {query}", query=query))


def test_a_corpus_is_ranked_as_a_project_is_and_leaves_no_project(stub: RankerServiceStub, project: str) -> None:
    remember(stub, project, PAGES)
    known = {runtime.project_id for runtime in stub.GetRuntime(pb.GetRuntimeRequest()).projects}
    frames = corpus_frames(PAGES, "drain the tank", "valve", project=project)
    responses = list(stub.RankCorpus(frames, timeout=60))
    results = [response.result for response in responses if response.HasField("result")]
    assert [result.query_id for result in results] == ["id of drain the tank", "id of valve"]
    for result, query in zip(results, ("drain the tank", "valve"), strict=True):
        reply = stub.ActivateMemory(pb.ActivateMemoryRequest(project_id=project, query=query))
        candidates = [
            candidate
            for response in responses
            if response.candidates.query_id == result.query_id
            for candidate in response.candidates.candidates
        ]
        assert result.candidate_count == len(candidates)
        assert result.revisions == reply.revisions
        selected = [(c.unit_key, c.relevance) for c in candidates if c.selected]
        assert selected == [(fragment.unit_key, fragment.relevance) for fragment in reply.fragments]
    assert {runtime.project_id for runtime in stub.GetRuntime(pb.GetRuntimeRequest()).projects} == known


@pytest.mark.parametrize(
    ("frames", "field"),
    [
        ([], "header"),
        ([pb.RankCorpusRequest(header=pb.RankCorpusHeader(profile="no"))], "header.profile"),
        ([*corpus_frames({}), pb.RankCorpusRequest(query=pb.CorpusQuery(query_id="q", query=" "))], "query"),
        ([*corpus_frames({}), pb.RankCorpusRequest(query=pb.CorpusQuery(query="text"))], "query_id"),
        ([*corpus_frames({}, "q"), *list(corpus_frames(PAGES))[1:]], "resource"),
        ([*list(corpus_frames(PAGES))[:2], pb.RankCorpusRequest(body=b"other")], None),
    ],
)
def test_a_bad_corpus_is_refused_by_the_name_of_its_field(
    stub: RankerServiceStub, frames: list[pb.RankCorpusRequest], field: str | None
) -> None:
    refusal = refused(lambda: list(stub.RankCorpus(iter(frames), timeout=60)))
    assert refusal.code == grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.metadata.get("field") == field

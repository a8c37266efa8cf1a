"""A frozen corpus and its queries to traces, by RankCorpus: nothing enters a project or a history."""

from collections.abc import Callable, Iterator

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.frames import corpus_frames
from ranktrail_client.message_json import enum_number
from ranktrail_client.ranker import RankerCalls
from ranktrail_evals.replay.fixture import FrozenCorpus
from ranktrail_evals.replay.trace import RankedUnit, Trace, revisions_of, stages_of

RANK_PHASE = "rank"
Progress = Callable[[str, int, int], None]


def rank_corpus(ranker: RankerCalls, corpus: FrozenCorpus, profile: str, progress: Progress) -> Iterator[Trace]:
    """Yield the trace of each case of a corpus, in their order, all of one stream; raises RanktrailError.

    An empty `profile` is the ranker's default. `progress` is told of the index and of the ranked cases.
    """
    units: list[RankedUnit] = []
    done = 0
    for response in ranker.rank_corpus(_frames(corpus, profile)):
        if response.HasField("progress"):
            step = response.progress
            progress(step.phase, step.done_count, step.total_count)
        elif response.HasField("candidates"):
            units += map(RankedUnit.of, response.candidates.candidates)
        else:
            done += 1
            progress(RANK_PHASE, done, len(corpus.cases))
            yield _trace(response.result, units)
            units = []


def _trace(result: pb.CorpusQueryResult, units: list[RankedUnit]) -> Trace:
    failure = f"{result.failure.stage}: {result.failure.code}" if result.HasField("failure") else None
    return Trace(tuple(units), stages_of(result.stage_latencies), revisions_of(result.revisions), failure)


def _frames(corpus: FrozenCorpus, profile: str) -> Iterator[pb.RankCorpusRequest]:
    header = pb.RankCorpusHeader(profile=profile, project_id=corpus.project_id)
    queries = (pb.CorpusQuery(query_id=case.case_id, query=case.query) for case in corpus.cases)
    return corpus_frames(header, _resources(corpus), queries)


def _resources(corpus: FrozenCorpus) -> Iterator[tuple[pb.CorpusResource, bytes]]:
    for one in corpus.resources:
        header = pb.ResourceHeader(
            resource_id=one.resource_id, kind=one.kind, path=one.path, title=one.title, media_type=one.media_type
        )
        layer = trace_pb2.Layer.ValueType(enum_number(trace_pb2.Layer.DESCRIPTOR, one.layer))
        yield pb.CorpusResource(resource=header, layer=layer), corpus.bodies[one.digest]

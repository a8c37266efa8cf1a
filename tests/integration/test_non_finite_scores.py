"""A reranker that returns what is no number, in a ranker that records to a real history."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ranker_service.activations import Activations
from ranker_service.domain.encoding import QueryEncoding
from ranker_service.domain.errors import RunFailed, StageFailed
from ranker_service.domain.ranking import ModelScore, RerankItem
from ranker_service.domain.request import ActivationRequest
from ranker_service.domain.resource import Layer
from ranker_service.memory.drafts import CommitMode, DraftResource
from ranker_service.pipeline import Pipeline
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.recorder.connection import HistoryTarget
from ranker_service.recorder.sink import Recorder
from ranker_service.system import SystemClock, jitter, new_run_id
from ranker_service.workspace.workspace import ReadyIndex, Workspace
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from ranktrail.trace.v1 import trace_pb2
from tests.fakes.encoder import WordEncoder
from tests.fakes.reranker import WordReranker
from tests.memories import digest
from tests.processes import Service, short_directory
from tests.recorded import recorded

TEXTS = {"a.md": "The pump drains the tank.", "b.md": "The tank is full.", "c.md": "Drain it with the pump."}
SCORES: dict[str, Callable[[list[ModelScore]], list[ModelScore]]] = {
    "nan": lambda scores: [ModelScore(math.nan, False), *scores[1:]],
    "infinite": lambda scores: [*scores[:-1], ModelScore(math.inf, False)],
    "too few": lambda scores: scores[1:],
}
CODES = {"nan": "non_finite_score", "infinite": "non_finite_score", "too few": "score_count_mismatch"}


class BrokenReranker(WordReranker):
    """Spoils the scores of the fake reranker."""

    def __init__(self, spoil: Callable[[list[ModelScore]], list[ModelScore]]) -> None:
        super().__init__()
        self._spoil = spoil

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:
        return self._spoil(super().score(query, encoding, items))


@pytest.mark.parametrize("fault", list(SCORES))
def test_a_run_with_scores_that_cannot_be_ordered_is_recorded_as_failed(tmp_path: Path, fault: str) -> None:
    with short_directory() as directory:
        history = Service("history_service", directory)
        history.start()
        recorder = Recorder(tmp_path / "spool", HistoryTarget(f"unix:{history.socket}"), SystemClock(), jitter)
        try:
            run_id = _fail(tmp_path, recorder, BrokenReranker(SCORES[fault]), CODES[fault])
            assert history.channel is not None
            run = recorded(HistoryServiceStub(history.channel), run_id)
        finally:
            recorder.close()
            history.kill()
    assert run.run.state == pb.RetrievalRun.STATE_FAILED
    assert (run.run.failure.stage, run.run.failure.code) == ("rerank", CODES[fault])
    assert {candidate.path for candidate in run.candidates} == set(TEXTS)
    for candidate in run.candidates:
        assert candidate.HasField("rrf_rank")
        assert not candidate.HasField("reranker_rank")
        assert not candidate.HasField("final_rank")
        assert candidate.exclusion_reason == trace_pb2.EXCLUSION_REASON_RUN_FAILED


def _fail(directory: Path, recorder: Recorder, reranker: WordReranker, code: str) -> str:
    """Activate once, check what the caller is told, and return the Run's id."""
    encoder, clock = WordEncoder(), SystemClock()
    profile = ProfileCatalog.load().default()
    workspace = Workspace(directory, encoder, profile.index, recorder.corpora)
    recorder.start()
    with workspace.committing("p", Layer.PROJECT, CommitMode.PATCH, None) as draft:
        for path, text in TEXTS.items():
            body = text.encode()
            draft.add(DraftResource(path, path, len(body), digest(body)), [body])
        workspace.publish("p", Layer.PROJECT, draft)
    assert isinstance(list(workspace.ensure_index("p"))[-1], ReadyIndex)
    pipeline = Pipeline(clock, encoder, lambda _: (reranker, False))
    activations = Activations(workspace, pipeline, recorder, clock, new_run_id, "instance")
    announced: list[str] = []
    with pytest.raises(RunFailed) as caught:
        activations.activate(ActivationRequest("p", "drain the tank", profile), announced.append)
    assert isinstance(caught.value.cause, StageFailed)
    assert caught.value.cause.code == code
    assert announced == [caught.value.run_id]
    workspace.close()
    return caught.value.run_id

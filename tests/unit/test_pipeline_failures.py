"""Runs that fail: one failed trace each, with stage, code and what was known, and a caller who gets the Run's id."""

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ranker_service.domain.candidate import ExclusionReason
from ranker_service.domain.encoding import QueryEncoding
from ranker_service.domain.errors import (
    ActivationStateInvalid,
    IndexNotReady,
    ProjectNotFound,
    RankerError,
    RunFailed,
    StageFailed,
)
from ranker_service.domain.profile import RerankSettings
from ranker_service.domain.ranking import ModelScore, RerankItem
from ranker_service.domain.request import ActivationRequest
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunState, RunTrace, Stage
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot
from ranker_service.pipeline import MemoryView, Pipeline, RerankerSource
from ranker_service.ports import Reranker
from tests.builders import a_profile
from tests.corpora import PROJECT, Corpus, indexed
from tests.fakes.clock import ManualClock
from tests.fakes.encoder import WordEncoder
from tests.fakes.reranker import WordReranker

PAGES = {f"{word}.md": f"About {word} and more.\n" for word in ("deploy", "rollback", "invoice", "harbour", "signal")}
SECRET = "the text of an unexpected error"  # noqa: S105 - text to look for


class View:
    """A view that answers with what it is given, or raises it."""

    def __init__(self, corpus: Corpus, memory: Exception | None = None, index: Exception | None = None) -> None:
        self._corpus, self._memory, self._index = corpus, memory, index

    def effective_memory(self) -> EffectiveMemory:
        if self._memory:
            raise self._memory
        return self._corpus.memory

    def snapshot(self) -> tuple[Snapshot, bool]:
        if self._index:
            raise self._index
        return self._corpus.index, False


class OddEncoder(WordEncoder):
    """An encoder that answers a query with one vector, or raises."""

    def __init__(self, answer: float | Exception, revision: str = WordEncoder.revision) -> None:
        super().__init__()
        self._answer = answer
        self.revision = revision

    def encode_query(self, text: str) -> QueryEncoding:
        if isinstance(self._answer, Exception):
            raise self._answer
        vector = np.full(self.dimension, self._answer, np.float32)
        return replace(super().encode_query(text), vector=vector)


class OddReranker(WordReranker):
    """A reranker that changes its answer, or raises."""

    def __init__(self, change: Callable[[list[ModelScore]], list[ModelScore]]) -> None:
        super().__init__()
        self._change = change

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:
        return self._change(super().score(query, encoding, items))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return indexed(tmp_path_factory.mktemp("index"), PAGES, WordEncoder())


def _source(reranker: Reranker | Exception) -> RerankerSource:
    def rerankers(_: RerankSettings, /) -> tuple[Reranker, bool]:
        if isinstance(reranker, Exception):
            raise reranker
        return reranker, False

    return rerankers


def _fail(
    view: MemoryView, encoder: WordEncoder | None = None, reranker: Reranker | Exception | None = None, **fields: Any
) -> tuple[RunTrace, RankerError]:
    """Run until it fails; check what holds of every failed Run and return its trace and cause."""
    pipeline = Pipeline(
        fields.pop("clock", ManualClock(1)), encoder or WordEncoder(), _source(reranker or WordReranker())
    )
    query = fields.pop("query", "deploy rollback")
    trace = RunTrace("the-run", PROJECT, query, "activation", "", "instance", 0)
    with pytest.raises(RunFailed) as failed:
        pipeline.run(ActivationRequest(PROJECT, trace.query, a_profile(), **fields), trace, view)
    assert failed.value.run_id == "the-run"
    assert trace.state is RunState.FAILED
    assert trace.failure is not None
    assert len(trace.failure.summary.encode()) <= 1_024
    assert trace.complete_time_us is not None
    assert (trace.returned_fragment_count, trace.returned_token_count) == (None, None)
    for candidate in trace.candidates:
        assert not candidate.selected
        assert candidate.exclusion_reason is ExclusionReason.RUN_FAILED
        assert candidate.delta_action is None
    return trace, failed.value.cause


def _place(trace: RunTrace) -> tuple[Stage, str]:
    assert trace.failure is not None
    return trace.failure.stage, trace.failure.code


def test_a_state_that_does_not_decode(corpus: Corpus) -> None:
    trace, cause = _fail(View(corpus), activation_state=b"\0")
    assert isinstance(cause, ActivationStateInvalid)
    assert _place(trace) == (Stage.ACTIVATION_STATE, "invalid_activation_state")
    assert trace.candidates == ()
    assert [latency.stage for latency in trace.stage_latencies] == [Stage.ACTIVATION_STATE]


def test_a_project_that_nobody_committed_to(corpus: Corpus) -> None:
    trace, cause = _fail(View(corpus, memory=ProjectNotFound(PROJECT)))
    assert isinstance(cause, ProjectNotFound)
    assert _place(trace) == (Stage.EFFECTIVE_MEMORY, "project_not_found")
    assert trace.revisions is not None
    assert (trace.revisions.effective_memory_hash, trace.revisions.profile_name) == ("", "activation.v1")


def test_a_project_without_an_index(corpus: Corpus) -> None:
    trace, cause = _fail(View(corpus, index=IndexNotReady(PROJECT)))
    assert isinstance(cause, IndexNotReady)
    assert _place(trace) == (Stage.INDEX_ENSURE, "index_not_ready")
    assert trace.revisions is not None
    assert (trace.revisions.effective_memory_hash, trace.revisions.index_revision) == (corpus.memory.hash, "")


@pytest.mark.parametrize(
    "damage", [IndexDamaged("vectors.bin"), StageFailed(Stage.INDEX_ENSURE, "index_damaged", "being rebuilt")]
)
def test_a_damaged_index(corpus: Corpus, damage: Exception) -> None:
    trace, cause = _fail(View(corpus, index=damage))
    assert isinstance(cause, StageFailed)
    assert _place(trace) == (cause.stage, cause.code) == (Stage.INDEX_ENSURE, "index_damaged")


def test_an_index_of_another_encoder(corpus: Corpus) -> None:
    trace, _ = _fail(View(corpus), OddEncoder(1.0, "another"))
    assert _place(trace) == (Stage.INDEX_ENSURE, "index_of_another_encoder")


@pytest.mark.parametrize(
    ("value", "code"), [(math.nan, "non_finite_vector"), (math.inf, "non_finite_vector"), (0.0, "zero_vector")]
)
def test_a_query_vector_without_a_direction_keeps_what_the_lexical_leg_had(
    corpus: Corpus, value: float, code: str
) -> None:
    trace, _ = _fail(View(corpus), OddEncoder(value))
    assert _place(trace) == (Stage.EMBEDDING, code)
    assert [candidate.lexical_rank for candidate in trace.candidates] == list(range(1, len(trace.candidates) + 1))
    assert {(candidate.rrf_rank, candidate.final_rank) for candidate in trace.candidates} == {(None, None)}


def test_a_query_in_which_the_tokenizer_finds_nothing_is_told_from_a_defect(corpus: Corpus) -> None:
    refusing = OddEncoder(ValueError("a blank text has no vector"))
    trace, _ = _fail(View(corpus), refusing, query="\x1f")
    assert _place(trace) == (Stage.EMBEDDING, "query_without_tokens")
    trace, _ = _fail(View(corpus), refusing, query="deploy")
    assert _place(trace) == (Stage.EMBEDDING, "internal")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda scores: [*scores[:-1], ModelScore(math.nan, truncated=False)], "non_finite_score"),
        (lambda scores: [ModelScore(math.inf, truncated=False), *scores[1:]], "non_finite_score"),
        (lambda scores: scores[:-1], "score_count_mismatch"),
        (lambda scores: [*scores, *scores], "score_count_mismatch"),
    ],
)
def test_scores_that_order_nothing_keep_the_fused_order(
    corpus: Corpus, change: Callable[[list[ModelScore]], list[ModelScore]], code: str
) -> None:
    trace, _ = _fail(View(corpus), reranker=OddReranker(change))
    assert _place(trace) == (Stage.RERANK, code)
    assert [candidate.rrf_rank for candidate in trace.candidates] == list(range(1, len(trace.candidates) + 1))
    assert {(candidate.reranker_score, candidate.final_rank) for candidate in trace.candidates} == {(None, None)}
    assert trace.revisions is not None
    assert trace.revisions.reranker_revision == WordReranker().revision


def test_a_reranker_that_cannot_be_had(corpus: Corpus) -> None:
    missing = StageFailed(Stage.RERANK, "reranker_not_configured", "start the ranker with --cross-encoder")
    trace, cause = _fail(View(corpus), reranker=missing)
    assert cause is missing
    assert _place(trace) == (Stage.RERANK, "reranker_not_configured")
    assert trace.candidates


def _raises(_: object) -> list[ModelScore]:
    raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    ("stage", "parts"),
    [
        (Stage.EFFECTIVE_MEMORY, {"memory": RuntimeError(SECRET)}),
        (Stage.INDEX_ENSURE, {"index": OSError(SECRET)}),
        (Stage.EMBEDDING, {"encoder": OddEncoder(RuntimeError(SECRET))}),
        (Stage.RERANK, {"reranker": OddReranker(_raises)}),
    ],
)
def test_an_unexpected_error_is_logged_and_its_text_goes_nowhere_else(
    corpus: Corpus, caplog: pytest.LogCaptureFixture, stage: Stage, parts: dict[str, Any]
) -> None:
    view = View(corpus, parts.pop("memory", None), parts.pop("index", None))
    with caplog.at_level(logging.ERROR):
        trace, cause = _fail(view, **parts)
    assert _place(trace) == (stage, "internal")
    assert SECRET not in str(cause) + str(trace.failure)
    assert SECRET in caplog.text
    assert "the-run" in caplog.text


def test_a_long_summary_is_cut_and_keeps_its_code(corpus: Corpus) -> None:
    trace, _ = _fail(View(corpus, index=StageFailed(Stage.INDEX_ENSURE, "some_code", "東" * 5_000)))
    assert trace.failure is not None
    assert (trace.failure.code, trace.failure.summary) == ("some_code", "東" * 341)


def test_candidates_that_can_no_longer_be_read_do_not_hide_the_failure(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise IndexDamaged("units")

    monkeypatch.setattr(Snapshot, "unit", unreadable)
    trace, _ = _fail(View(corpus))
    assert _place(trace) == (Stage.RERANK, "index_damaged")
    assert trace.candidates == ()


def _ending(corpus: Corpus, deadline_us: int) -> RunTrace:
    """Run against a clock on which each look takes a microsecond."""
    pipeline = Pipeline(ManualClock(1), WordEncoder(), _source(WordReranker()))
    trace = RunTrace("the-run", PROJECT, "deploy rollback", "activation", "", "instance", 0)
    request = ActivationRequest(PROJECT, trace.query, a_profile(), deadline_us=deadline_us)
    with suppress(RunFailed):
        pipeline.run(request, trace, View(corpus))
    return trace


def test_a_deadline_ends_a_run_before_the_next_stage_whichever_that_is(corpus: Corpus) -> None:
    looks_per_stage = 2
    for position, stage in enumerate(Stage):
        trace = _ending(corpus, deadline_us=1 + position * looks_per_stage)
        assert _place(trace) == (stage, "activation_deadline")
        assert [latency.stage for latency in trace.stage_latencies] == list(Stage)[:position]
        has_final_order = stage in (Stage.SELECTION, Stage.RECORDING)
        assert all((candidate.final_rank is not None) == has_final_order for candidate in trace.candidates)
        assert bool(trace.candidates) == (position > list(Stage).index(Stage.EXACT) + 1)
    assert _ending(corpus, deadline_us=100).state is RunState.SUCCEEDED


def test_a_failed_query_over_a_frozen_memory_comes_back_as_a_failed_trace(corpus: Corpus) -> None:
    pipeline = Pipeline(ManualClock(1), OddEncoder(math.nan), _source(WordReranker()))
    trace = pipeline.rank("deploy", a_profile(), corpus.memory, corpus.index)
    assert _place(trace) == (Stage.EMBEDDING, "non_finite_vector")

"""The pipeline: orders the stages of a Run, times them, and fills the one trace that reply and record are made from."""

import logging
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.activation import ActivationState, fingerprint
from ranker_service.domain.candidate import Candidate
from ranker_service.domain.encoding import QueryEncoding
from ranker_service.domain.errors import IndexNotReady, ProjectNotFound, RankerError, RunFailed, StageFailed
from ranker_service.domain.profile import Profile, RerankSettings
from ranker_service.domain.ranking import Fused, ModelScore, RerankItem
from ranker_service.domain.request import Activation, ActivationRequest
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import Failure, Revisions, RunState, RunTrace, Stage
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot
from ranker_service.ports import Clock, Encoder, Reranker
from ranker_service.stages import bm25, candidates, delta, dense, exact, fusion, rerank, selection

REPLAY = "replay"
_LOG = logging.getLogger(__name__)

T = TypeVar("T")


class MemoryView(Protocol):
    """One project's memory as a Run sees it."""

    def effective_memory(self) -> EffectiveMemory:
        """Return the Effective Memory now; raise ProjectNotFound."""

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the last complete index and whether this call loaded it.

        Raises IndexNotReady where there is none, IndexDamaged or StageFailed where it cannot be trusted.
        """


class RerankerSource(Protocol):
    """Where the reranker of a profile comes from."""

    def __call__(self, settings: RerankSettings, /) -> tuple[Reranker, bool]:
        """Return the reranker and whether this call loaded it; raise StageFailed where it cannot be had."""


@dataclass(frozen=True, slots=True)
class FrozenMemory:
    """A memory and an index that do not change: how a corpus is seen."""

    memory: EffectiveMemory
    index: Snapshot

    def effective_memory(self) -> EffectiveMemory:
        """Return the memory."""
        return self.memory

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the index, which was loaded before."""
        return self.index, False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Ranks queries; safe to call from any thread."""

    clock: Clock
    encoder: Encoder
    rerankers: RerankerSource

    def run(self, request: ActivationRequest, trace: RunTrace, memory: MemoryView) -> Activation:
        """Rank, select, and compare with what the caller knows; raise RunFailed.

        Either way `trace` is terminal then, and a failed one keeps the revisions and candidates that were known. Only
        the latency of stage recording is still to come: whoever records adds it before the trace is written.
        """
        return _Run(self, request, trace, memory).activate()

    def rank(self, query: str, profile: Profile, memory: EffectiveMemory, index: Snapshot) -> RunTrace:
        """Rank a query over a frozen memory for a caller who knows nothing, by the same stages; nothing is recorded.

        Returns the terminal trace, failed or not; it has no Run id.
        """
        trace = RunTrace("", memory.project_id, query, REPLAY, fingerprint(None), "", self.clock.now_us())
        try:
            self.run(ActivationRequest(memory.project_id, query, profile), trace, FrozenMemory(memory, index))
        except RunFailed as error:
            _LOG.warning("ranking a query over a corpus failed: %s", error)
        return trace


class _Run:
    """One Run under way: its stages in order, and what is known so far."""

    def __init__(self, pipeline: Pipeline, request: ActivationRequest, trace: RunTrace, memory: MemoryView) -> None:
        self._pipeline = pipeline
        self._request = request
        self._profile = request.profile
        self._trace = trace
        self._memory = memory
        # As the lexical leg folds it: spellings that mean the same, such as full-width letters, must rank alike.
        self._model_query = unicodedata.normalize("NFKC", request.query)
        self._stage = Stage.ACTIVATION_STATE
        self._revisions = trace.revisions = Revisions(
            profile_name=request.profile.name, profile_digest=_digest(request.profile)
        )
        self._index: Snapshot | None = None
        self._findings = candidates.Findings()

    def activate(self) -> Activation:
        """Run every stage and end the trace."""
        try:
            activation = self._rank()
        except Exception as error:
            raise self._failed(error) from error
        tokens = [fragment.unit.token_count for fragment in activation.fragments]
        self._trace.returned_fragment_count, self._trace.returned_token_count = len(tokens), sum(tokens)
        self._end(RunState.SUCCEEDED, activation.candidates)
        return activation

    def _rank(self) -> Activation:
        state = self._in(Stage.ACTIVATION_STATE, self._read_state)
        self._in(Stage.EFFECTIVE_MEMORY, self._read_memory)
        index, allowed = self._in(Stage.INDEX_ENSURE, self._open_index)
        obstacle = rerank.why_not(self._profile.rerank, index.reranker_note)
        self._recall_lexical(index, allowed)
        encoding = self._in(Stage.EMBEDDING, lambda: self._encode(is_reranked=not obstacle))
        self._recall_dense(index, allowed, encoding)
        self._in(Stage.RRF, self._fuse)
        if obstacle:
            self._keep_fused_order(obstacle)
        else:
            self._in(Stage.RERANK, lambda: self._rerank(index, encoding))
        activation = self._in(Stage.SELECTION, lambda: self._select(index, state, encoding))
        self._enter(Stage.RECORDING)
        return activation

    def _read_state(self) -> ActivationState:
        state = self._request.activation_state
        return ActivationState() if state is None else ActivationState.decode(state)

    def _read_memory(self) -> None:
        memory = self._memory.effective_memory()
        self._know(effective_memory_hash=memory.hash, resource_count=len(memory.resources))

    def _open_index(self) -> tuple[Snapshot, NDArray[np.bool_] | None]:
        index, loaded = self._memory.snapshot()
        self._trace.cold |= loaded
        if index.model_revision != self._pipeline.encoder.revision:
            summary = "the index was built with another encoder; it is usable again once it has been rebuilt"
            raise StageFailed(Stage.INDEX_ENSURE, "index_of_another_encoder", summary)
        self._index = index
        self._know(
            index_revision=index.index_revision,
            parser_revision=index.parser_revision,
            chunker_revision=index.chunker_revision,
            lexical_revision=index.lexical_revision,
            model_revision=index.model_revision,
            vector_index_revision=index.vector_index_revision,
            unit_count=index.unit_count,
        )
        return index, index.allowed(self._request.kinds, self._request.layers, self._request.path_prefix)

    def _recall_lexical(self, index: Snapshot, allowed: NDArray[np.bool_] | None) -> None:
        found, profile, query = self._findings, self._profile, self._request.query
        if not profile.lexical.limit:
            return
        if profile.exact.limit:
            found.exact = self._in(Stage.EXACT, lambda: exact.rank(index.identity, query, profile.exact, allowed))
        if profile.bm25.limit:
            found.bm25 = self._in(Stage.BM25, lambda: bm25.rank(index.lexical, query, profile.bm25, allowed))
        found.lexical = bm25.lexical_list(found.exact, found.bm25, profile.lexical)

    def _encode(self, *, is_reranked: bool) -> QueryEncoding:
        """Encode the query, or, where no later stage reads its vectors, only count its tokens."""
        encoder, query = self._pipeline.encoder, self._model_query
        if self._profile.dense.limit or is_reranked:
            encoding = _encoded(encoder, query)
        else:
            nothing = np.zeros((0, encoder.dimension), np.float32)
            encoding = QueryEncoding(
                np.zeros(encoder.dimension, np.float32), nothing, len(encoder.token_spans(query)), 0
            )
        self._trace.query_token_count = encoding.token_count
        self._trace.query_tokens_encoded = encoding.tokens_encoded
        return encoding

    def _recall_dense(self, index: Snapshot, allowed: NDArray[np.bool_] | None, encoding: QueryEncoding) -> None:
        settings = self._profile.dense
        if settings.limit:
            self._findings.dense = self._in(
                Stage.VECTOR, lambda: dense.rank(index.vectors, encoding.vector, settings, allowed)
            )

    def _fuse(self) -> None:
        found = self._findings
        dense_rows = [unit.row for unit in found.dense]
        found.fused = fusion.reciprocal_rank_fusion([found.lexical, dense_rows], self._profile.rrf.k)

    def _keep_fused_order(self, obstacle: str) -> None:
        self._know(reranker_revision=f"none ({obstacle})")
        self._findings.order = [unit.row for unit in self._findings.fused]

    def _rerank(self, index: Snapshot, encoding: QueryEncoding) -> None:
        found, settings = self._findings, self._profile.rerank
        reranker, loaded = self._pipeline.rerankers(settings)
        self._trace.cold |= loaded
        self._know(reranker_revision=reranker.revision)
        head = found.fused[: settings.depth]
        scores = self._score(reranker, index, encoding, head) if head else []
        found.reranked = rerank.rank(head, scores, settings)
        found.order = rerank.final_order(found.fused, found.reranked)

    def _score(
        self, reranker: Reranker, index: Snapshot, encoding: QueryEncoding, head: Sequence[Fused]
    ) -> list[ModelScore]:
        rows = [unit.row for unit in head]
        token_vectors = index.token_vectors(rows) if reranker.needs_token_vectors else [None] * len(rows)
        items = [RerankItem(index.unit(row), vectors) for row, vectors in zip(rows, token_vectors, strict=True)]
        return reranker.score(self._model_query, encoding, items)

    def _select(self, index: Snapshot, state: ActivationState, encoding: QueryEncoding) -> Activation:
        found = self._findings
        order = found.recalled()
        contenders = self._contenders(index, order)
        found.reasons = selection.select(contenders, self._request.limits)
        rows = [row for row, reason in zip(order, found.reasons, strict=True) if reason is None]
        change = delta.apply(state, [index.unit(row) for row in rows], index.holds)
        found.actions = dict(zip(rows, change.actions, strict=True))
        return Activation(
            run_id=self._trace.run_id,
            revisions=self._revisions,
            query_token_count=encoding.token_count,
            query_tokens_encoded=encoding.tokens_encoded,
            candidates=candidates.ranked(found, index.unit),
            removed=change.removed,
            next_state=change.next_state.encode(),
        )

    def _contenders(self, index: Snapshot, order: list[int]) -> list[selection.Contender]:
        relevances = {unit.row: unit.relevance for unit in self._findings.reranked}
        return [
            selection.Contender(index.unit(row), bool(relevances) and row not in relevances, relevances.get(row))
            for row in order
        ]

    def _in(self, stage: Stage, work: Callable[[], T]) -> T:
        """Do a stage's work and add its time to the trace, whether it ends well or not."""
        began_us = self._enter(stage)
        try:
            return work()
        finally:
            self._trace.add_latency(stage, self._pipeline.clock.monotonic_us() - began_us)

    def _enter(self, stage: Stage) -> int:
        """Return the time, unless the deadline has passed: then the stage does not begin."""
        self._stage = stage
        now_us = self._pipeline.clock.monotonic_us()
        deadline_us = self._request.deadline_us
        if deadline_us is not None and now_us >= deadline_us:
            raise StageFailed(stage, "activation_deadline", f"the deadline had passed before stage {stage.value} began")
        return now_us

    def _know(self, **revisions: Any) -> None:
        self._revisions = self._trace.revisions = replace(self._revisions, **revisions)

    def _failed(self, error: Exception) -> RunFailed:
        """End the trace as failed and return what the caller is told."""
        cause, failure = _told(error, self._stage, self._trace.run_id)
        self._trace.failure = failure
        self._end(RunState.FAILED, self._candidates_so_far())
        return RunFailed(self._trace.run_id, cause)

    def _candidates_so_far(self) -> tuple[Candidate, ...]:
        if self._index is None:
            return ()
        try:
            return candidates.unfinished(self._findings, self._index.unit)
        except Exception:
            _LOG.exception("the candidates of failed Run %s cannot be read", self._trace.run_id)
            return ()

    def _end(self, state: RunState, ranked: tuple[Candidate, ...]) -> None:
        self._trace.candidates = ranked
        self._trace.complete_time_us = self._pipeline.clock.now_us()
        self._trace.state = state


def _encoded(encoder: Encoder, query: str) -> QueryEncoding:
    """Encode a query; raise StageFailed where no vector can come of it."""
    try:
        encoding = encoder.encode_query(query)
    except ValueError as error:
        if encoder.token_spans(query):
            raise
        summary = "the encoder's tokenizer finds nothing in the query: ask with letters, digits or signs"
        raise StageFailed(Stage.EMBEDDING, "query_without_tokens", summary) from error
    dense.require_direction(encoding.vector)
    return encoding


def _told(error: Exception, stage: Stage, run_id: str) -> tuple[RankerError, Failure]:
    """Return what a caller is told of an error, and the trace's failure; an unexpected one's text stays in the log."""
    match error:
        case StageFailed():
            cause = error
        case ProjectNotFound():
            return error, Failure(stage, "project_not_found", str(error))
        case IndexNotReady():
            return error, Failure(stage, "index_not_ready", str(error))
        case IndexDamaged():
            cause = StageFailed(stage, "index_damaged", "the index on disk is damaged; it has to be built again")
        case _:
            _LOG.error("stage %s of Run %s failed", stage.value, run_id, exc_info=error)
            cause = StageFailed(stage, "internal", "an unexpected error; the ranker's log has it under the Run's id")
    return cause, Failure(cause.stage, cause.code, cause.summary)


@lru_cache(maxsize=64)
def _digest(profile: Profile) -> str:
    return profile.digest

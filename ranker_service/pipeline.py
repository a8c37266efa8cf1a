"""The pipeline: orders the stages of a Run, times them, and fills the one trace that reply and record are made from."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.activation import ActivationState, fingerprint
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

_LOG = logging.getLogger(__name__)
_INTERNAL = "an unexpected error; the ranker's log has it under this Run's id"

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

    def __call__(self, settings: RerankSettings) -> tuple[Reranker, bool]:
        """Return the reranker and whether this call loaded it; raise StageFailed where it cannot be had."""


@dataclass(frozen=True, slots=True)
class FrozenMemory:
    """A memory and an index that do not change; the view that a corpus is ranked through."""

    memory: EffectiveMemory
    index: Snapshot

    def effective_memory(self) -> EffectiveMemory:
        """Return the memory."""
        return self.memory

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the index, which is loaded already."""
        return self.index, False


class Pipeline:
    """Ranks queries; safe to call from any thread."""

    def __init__(self, clock: Clock, encoder: Encoder, rerankers: RerankerSource) -> None:
        self.clock = clock
        self.encoder = encoder
        self.rerankers = rerankers

    def run(self, request: ActivationRequest, trace: RunTrace, memory: MemoryView) -> Activation:
        """Rank, select and compare with what the caller knows.

        `trace` is terminal when this returns, and when it raises RunFailed, which says why and carries the Run's id; only
        the latency of stage recording is added by whoever records. A failed trace keeps the revisions and candidates
        that were known.
        """
        return _Run(self, request, trace, memory).activate()

    def rank_frozen(self, query: str, profile: Profile, memory: FrozenMemory) -> RunTrace:
        """Rank a query over a frozen memory for a caller who knows nothing; return the terminal trace, failed or not.

        Nothing is recorded: the trace has no Run id.
        """
        request = ActivationRequest(memory.memory.project_id, query, profile)
        now_us = self.clock.now_us()
        trace = RunTrace("", request.project_id, query, "replay", fingerprint(None), "", create_time_us=now_us)
        try:
            self.run(request, trace, memory)
        except RunFailed as error:
            _LOG.info("a query over a corpus failed: %s", error)
        return trace


class _Run:
    """One Run under way: the stages in order, and what is known so far."""

    def __init__(self, pipeline: Pipeline, request: ActivationRequest, trace: RunTrace, memory: MemoryView) -> None:
        self._clock = pipeline.clock
        self._encoder = pipeline.encoder
        self._rerankers = pipeline.rerankers
        self._request = request
        self._profile = request.profile
        self._trace = trace
        self._memory = memory
        self._stage = Stage.ACTIVATION_STATE
        self._revisions = Revisions(profile_name=self._profile.name, profile_digest=_digest(self._profile))
        self._findings = candidates.Findings()
        self._index: Snapshot | None = None

    def activate(self) -> Activation:
        try:
            activation = self._rank()
        except Exception as error:  # noqa: BLE001 - whatever a stage raises, the Run ends as failed and is recorded
            raise self._failed(error) from error
        self._end(RunState.SUCCEEDED, activation.candidates)
        fragments = activation.fragments
        self._trace.returned_fragment_count = len(fragments)
        self._trace.returned_token_count = sum(fragment.unit.token_count for fragment in fragments)
        return activation

    def _rank(self) -> Activation:
        state = self._in(Stage.ACTIVATION_STATE, self._read_state)
        memory = self._in(Stage.EFFECTIVE_MEMORY, self._read_memory)
        index, allowed = self._in(Stage.INDEX_ENSURE, self._open_index)
        self._recall_lexical(index, allowed)
        encoding = self._in(Stage.EMBEDDING, lambda: self._embed(index))
        self._recall_dense(index, allowed, encoding)
        self._in(Stage.RRF, self._fuse)
        self._rerank(index, encoding)
        ...


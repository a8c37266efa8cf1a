"""The ranker's trace sink: what it is given is on disk before it returns, and reaches history when history can."""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from ranker_service.domain.resource import EffectiveMemory
from ranker_service.domain.trace import RunTrace, Stage
from ranker_service.ports import Clock
from ranker_service.recorder.backoff import Backoff
from ranker_service.recorder.candidate_bytes import CandidateEncoder
from ranker_service.recorder.connection import Connection, ForeignProcess, HistoryTarget
from ranker_service.recorder.corpora import CorpusSpool
from ranker_service.recorder.corpus_delivery import CorpusDelivery
from ranker_service.recorder.delivery import RunDelivery
from ranker_service.recorder.episode import Episode
from ranker_service.recorder.flusher import Flusher
from ranker_service.recorder.frames import Pieces, run_frames, started_frame
from ranker_service.recorder.journal import DEFAULT_LIMIT_BYTES, Journal, JournalFull, Pending
from ranker_service.recorder.outbox import Announcement, Outbox
from ranker_service.recorder.status import Counter, RecorderState, RecorderStatus, status_to_proto
from ranktrail.ranker.v1 import ranker_service_pb2 as pb

DRAIN_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


class Recorder:
    """A ports.TraceSink over one spool directory; `corpora` is its ports.CorpusKeeper. Safe to call from any thread.

    Make it, register the memories that there are with `corpora`, then `start` it. Only the process that made it may
    use it; in any other every call raises ForeignProcess. Making it raises JournalInUse where another process has the
    spool.
    """

    def __init__(
        self,
        directory: Path,
        history: HistoryTarget,
        clock: Clock,
        jitter: Callable[[], float],
        limit_bytes: int = DEFAULT_LIMIT_BYTES,
    ) -> None:
        self._process = os.getpid()
        self._history = history
        self._clock = clock
        self._encode = CandidateEncoder().encode
        self._dropped = Counter()
        self._drops = Episode(_LOG, "Runs are kept again")
        self._journal = Journal(directory, limit_bytes, lambda: self.corpora.owned_bytes)
        self.corpora = CorpusSpool(directory, clock)
        recovered = self._journal.recovered()
        self.corpora.recover(pending.effective_memory_hash for pending in recovered)
        self._outbox = Outbox(clock, self.corpora.availability)
        self._outbox.offer(recovered)
        self.corpora.on_change = self._outbox.unblock
        self._flusher = Flusher(self._journal, self._outbox.wake)
        self._runs = RunDelivery(self._outbox, self._journal, self.corpora, Backoff(jitter))
        self._puts = CorpusDelivery(self.corpora, Backoff(jitter), clock)
        self._connection: Connection | None = None

    def start(self) -> None:
        """Begin to deliver."""
        self._check_process()
        self._flusher.start()
        self._connection = Connection(self._history)
        self._puts.start(self._connection)
        self._runs.start(self._connection)

    def started(self, trace: RunTrace) -> None:
        """Announce a Run to history if that costs nothing; while Runs are dropped, none is announced."""
        self._check_process()
        self.corpora.run_started(trace.project_id)
        if self._runs.connected and not self._drops.lasts:
            with suppress(ValueError):  # the encoder's word for text that is not Unicode; `finished` logs it
                self._outbox.announce(Announcement(trace.run_id, started_frame(trace)))

    def finished(self, trace: RunTrace) -> None:
        """Keep a terminal trace; a Run that cannot be kept is counted, and the first of a series logged."""
        self._check_process()
        pending = self._keep(trace)
        self.corpora.run_ended(trace.project_id, None if pending is None else pending.effective_memory_hash)
        if pending is None:
            self._outbox.retract(trace.run_id)
            self._dropped.add()
            return
        self._drops.end()
        self._outbox.offer([pending])
        self._flusher.written()

    def status(self) -> RecorderStatus:
        """Say how it stands."""
        return RecorderStatus(
            state=RecorderState.CONNECTED if self._runs.connected else RecorderState.WAITING,
            pending_run_count=self._journal.pending_count,
            spool_bytes=self._journal.used_bytes,
            spool_limit_bytes=self._journal.limit_bytes,
            dropped_run_count=self._dropped.value,
            recorded_run_count=self._runs.recorded.value,
            refused_run_count=self._runs.refused.value,
            damaged_run_count=self._runs.damaged.value + self._journal.damaged_count,
            last_error=self._runs.last_error or self._puts.last_error,
        )

    def runtime(self) -> pb.RecorderRuntime:
        """Say it in the contract's words."""
        return status_to_proto(self.status())

    def close(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Deliver for at most so long where history answers, bring the rest to the disk, and end."""
        self._check_process()
        self._runs.stop(drain_seconds)
        self._puts.stop()
        if self._connection is not None:
            self._connection.close()
            self._flusher.stop()
        self._journal.close()

    def _keep(self, trace: RunTrace) -> Pending | None:
        memory_hash = "" if trace.revisions is None else trace.revisions.effective_memory_hash
        try:
            return self._journal.append(trace.run_id, memory_hash, self._frames(trace))
        except JournalFull as error:
            self._drops.begin("Runs are dropped, the journal is full: %s", error)
        except OSError as error:
            self._drops.begin("Runs are dropped, the journal cannot be written: %s", error)
        except Exception:
            _LOG.exception("Run %s is dropped, its trace cannot be encoded", trace.run_id)
        return None

    def _frames(self, trace: RunTrace) -> list[Pieces]:
        """Encode a Run; what its candidates take is the latency of stage recording that the trace itself can tell."""
        began_us = self._clock.monotonic_us()
        candidates = [self._encode(candidate) for candidate in trace.candidates]
        trace.add_latency(Stage.RECORDING, self._clock.monotonic_us() - began_us)
        return run_frames(trace, candidates)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise ForeignProcess("this recorder was made by another process: make it after the fork")


class RecordingOff:
    """The sink and the corpus keeper of a ranker whose configuration turns recording off."""

    @property
    def corpora(self) -> Self:
        """The corpus keeper."""
        return self

    def start(self) -> None:
        """Do nothing."""

    def started(self, trace: RunTrace) -> None:
        """Do nothing."""

    def finished(self, trace: RunTrace) -> None:
        """Keep nothing."""

    def register(self, memory: EffectiveMemory, body_path: Callable[[str], Path]) -> None:
        """Do nothing."""

    def retain(self, project_id: str) -> None:
        """Keep nothing."""

    def release(self, project_id: str) -> None:
        """Do nothing."""

    def status(self) -> RecorderStatus:
        """Say that it is off."""
        return RecorderStatus(RecorderState.OFF)

    def runtime(self) -> pb.RecorderRuntime:
        """Say it in the contract's words."""
        return status_to_proto(self.status())

    def close(self, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Do nothing."""

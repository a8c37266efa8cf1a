"""Delivers Runs from the journal to history on one long-lived stream."""

import logging
import threading
from collections.abc import Iterator, Sequence

import grpc

from ranker_service.domain.limits import MESSAGE_BYTES
from ranker_service.recorder.backoff import LAST_SECONDS, Backoff
from ranker_service.recorder.connection import CallEnd, Connection, follow
from ranker_service.recorder.corpora import CorpusSpool
from ranker_service.recorder.episode import Episode
from ranker_service.recorder.frames import with_digest
from ranker_service.recorder.journal import Journal, Pending
from ranker_service.recorder.outbox import Announcement, Dispatch, Outbox
from ranker_service.recorder.record import RecordDamaged
from ranker_service.recorder.status import Counter
from ranktrail.history.v1 import history_service_pb2 as pb

CONNECT_SECONDS = 2.0
FIRST_PATIENCE_SECONDS = 5.0
LAST_PATIENCE_SECONDS = 120.0
FINAL_REASONS = frozenset({"RUN_CONFLICT", "FIELD_INVALID"})
"""Refusals that no repetition changes."""
_LOG = logging.getLogger(__name__)
# Ends of a stream that say something about history, and nothing about the Run that was being sent.
_BLAMELESS = frozenset(
    {
        grpc.StatusCode.OK,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)


class RunDelivery:
    """A thread that keeps a RecordRetrievalRuns stream open and lets go of each Run that history confirmed."""

    def __init__(self, outbox: Outbox, journal: Journal, corpora: CorpusSpool, backoff: Backoff) -> None:
        self.recorded = Counter()
        self.refused = Counter()
        self.damaged = Counter()
        self.last_error = ""
        self._outbox = outbox
        self._journal = journal
        self._corpora = corpora
        self._backoff = backoff
        self._patience = FIRST_PATIENCE_SECONDS
        self._streaming = False
        self._silent = False
        self._stopping = threading.Event()
        self._draining = False
        self._thread: threading.Thread | None = None
        self._outage = Episode(_LOG, "history records again")
        self._refusals = Episode(_LOG, "history takes Runs again")

    @property
    def connected(self) -> bool:
        """Whether a stream is open, and history answered when it last owed an answer."""
        return self._streaming and not self._silent

    def start(self, connection: Connection) -> None:
        """Begin to deliver."""
        self._thread = threading.Thread(target=self._run, args=[connection], name="recorder-delivery", daemon=True)
        self._thread.start()

    def stop(self, drain_seconds: float) -> None:
        """End; where history answers, what waits is delivered before that, for at most so long."""
        self._draining = True
        self._outbox.drain()
        if self._thread is not None:
            self._thread.join(drain_seconds if self.connected else 0.0)
            self._stopping.set()
            self._thread.join()

    def _run(self, connection: Connection) -> None:
        while not self._stopping.is_set() and not self._draining:
            try:
                self._deliver(connection)
            except Exception:
                _LOG.exception("delivering Runs failed and goes on")
                self._stopping.wait(LAST_SECONDS)

    def _deliver(self, connection: Connection) -> None:
        """Serve one stream from the connection to its end, and wait until the next one is due."""
        if not connection.wait_ready(self._stopping, CONNECT_SECONDS):
            self._fail("history cannot be reached")
            return
        stream = self._outbox.begin_stream()
        self._streaming = True
        call = connection.record_runs(self._requests(stream))
        end = follow(call, self._take, self._is_gone, self._stopping)
        self._streaming = False
        self._outbox.end_stream(blame=end.code not in _BLAMELESS and end.reason != "OVERLOADED")
        if not self._stopping.is_set() and not self._draining:
            self._note(end)
            self._stopping.wait(self._backoff.next_seconds())

    def _requests(self, stream: int) -> Iterator[bytes]:
        while (item := self._outbox.next(stream)) is not None:
            yield from [item.frame] if isinstance(item, Announcement) else self._frames(item)

    def _frames(self, dispatch: Dispatch) -> Sequence[bytes]:
        """Return a Run's frames as the journal holds them; none where it cannot be sent."""
        pending = dispatch.pending
        try:
            frames = with_digest(pending.run_id, self._journal.read(pending).frames)
        except RecordDamaged as error:
            self.damaged.add()
            _LOG.warning("Run %s is lost, the journal is damaged: %s", pending.run_id, error)
            self._discard(pending)
            return ()
        except OSError as error:
            self._fail(f"the journal cannot be read: {error}")
            self._outbox.put_back_for(pending, self._backoff.next_seconds())
            return ()
        problem = _problem(dispatch, frames)
        if problem:
            self._refuse(pending, problem)
            self._discard(pending)
            return ()
        return frames[1:] if dispatch.announced else frames

    def _take(self, answer: pb.RecordRetrievalRunsResponse) -> None:
        pending = self._outbox.unanswered(answer.run_id)
        if pending is None:
            return
        self._patience = min(max(FIRST_PATIENCE_SECONDS, 4 * self._outbox.owed_seconds()), LAST_PATIENCE_SECONDS)
        self._silent = False
        if answer.WhichOneof("outcome") == "recorded":
            self._confirm(pending)
        else:
            self._take_refusal(pending, answer.refused)

    def _confirm(self, pending: Pending) -> None:
        self.recorded.add()
        self.last_error = ""
        self._backoff.reset()
        self._outage.end()
        self._refusals.end()
        self._let_go(pending)
        self._outbox.settle(pending)

    def _take_refusal(self, pending: Pending, refused: pb.Refused) -> None:
        if refused.reason == "CORPUS_NOT_FOUND":
            self._corpora.missing(pending.effective_memory_hash)
            self._outbox.resend(pending)
        elif refused.reason in FINAL_REASONS:
            self._refuse(pending, f"{refused.reason}: {refused.message}")
            self._let_go(pending)
            self._outbox.settle(pending)
        else:
            self._fail(f"history could not record a Run: {refused.reason}: {refused.message}")
            self._outbox.resend_after(pending, self._backoff.next_seconds())

    def _refuse(self, pending: Pending, why: str) -> None:
        """Count a Run that is given up."""
        self.refused.add()
        self.last_error = f"Run {pending.run_id} is not recorded: {why}"
        self._refusals.begin("Run %s is not recorded, like others that may follow: %s", pending.run_id, why)

    def _discard(self, pending: Pending) -> None:
        self._let_go(pending)
        self._outbox.discard(pending)

    def _let_go(self, pending: Pending) -> None:
        self._journal.acknowledge(pending)
        self._corpora.run_settled(pending.effective_memory_hash)

    def _is_gone(self) -> bool:
        return self._outbox.owed_seconds() > self._patience

    def _note(self, end: CallEnd) -> None:
        if end.code is grpc.StatusCode.DEADLINE_EXCEEDED:
            self._silent = True
            self._patience = min(2 * self._patience, LAST_PATIENCE_SECONDS)
        self._fail(end.text)

    def _fail(self, text: str) -> None:
        self.last_error = text
        self._outage.begin("Runs wait in the journal: %s", text)


def _problem(dispatch: Dispatch, frames: Sequence[bytes]) -> str:
    """Return why a Run can never be sent; "" where it can."""
    if dispatch.lost:
        return f"its corpus {dispatch.pending.effective_memory_hash} can no longer be had"
    if max(map(len, frames)) > MESSAGE_BYTES:
        return f"it has a frame of more than {MESSAGE_BYTES} bytes"
    return ""

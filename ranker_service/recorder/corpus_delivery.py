"""Delivers corpora to history, on a stream of their own, one after another."""

import logging
import queue
import threading
from collections.abc import Iterator, Sequence

from ranker_service.domain.limits import FRAME_BYTES
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.ports import Clock
from ranker_service.recorder.backoff import LAST_SECONDS, Backoff
from ranker_service.recorder.connection import CallEnd, Connection, follow
from ranker_service.recorder.corpora import CorpusLost, CorpusSpool
from ranker_service.recorder.episode import Episode
from ranker_service.recorder.frames import corpus_frames
from ranktrail.history.v1 import history_service_pb2 as pb

IDLE_SECONDS = 1.0
CONNECT_SECONDS = 2.0
PATIENCE_SECONDS = 60.0
"""How long a step of history's may take, such as syncing many bodies to its disk."""
LAST_PATIENCE_SECONDS = 900.0
MEASURE_SECONDS = 30.0
PART_BYTES = 128
"""What a part of a body takes in its frame beside its content, at most."""
FINAL_REASONS = frozenset({"BLOB_DIGEST_MISMATCH", "FIELD_INVALID"})
"""Ends of a stream that no repetition with the same corpus changes."""
_LOG = logging.getLogger(__name__)
_MICROSECONDS = 1_000_000


class CorpusDelivery:
    """A thread that puts every corpus that is wanted; a corpus that fails lets the others go first."""

    def __init__(self, corpora: CorpusSpool, backoff: Backoff, clock: Clock) -> None:
        self.last_error = ""
        self._corpora = corpora
        self._backoff = backoff
        self._clock = clock
        self._patience = PATIENCE_SECONDS
        self._failures = Episode(_LOG, "history takes corpora again")
        self._measured_us = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, connection: Connection) -> None:
        """Begin to deliver."""
        self._thread = threading.Thread(target=self._run, args=[connection], name="recorder-corpora", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; a corpus that is under way is put again after a restart."""
        self._stopping.set()
        self._corpora.wake()
        if self._thread is not None:
            self._thread.join()

    def _run(self, connection: Connection) -> None:
        while not self._stopping.is_set():
            try:
                self._measure()
                wanted = self._corpora.wait_wanted(IDLE_SECONDS, self._stopping)
                if wanted and connection.wait_ready(self._stopping, CONNECT_SECONDS):
                    self._deliver(connection)
            except Exception:
                _LOG.exception("delivering corpora failed and goes on")
                self._stopping.wait(LAST_SECONDS)

    def _measure(self) -> None:
        now = self._clock.monotonic_us()
        if now - self._measured_us > MEASURE_SECONDS * _MICROSECONDS:
            self._measured_us = now
            self._corpora.measure()

    def _deliver(self, connection: Connection) -> None:
        upload = CorpusUpload(self._corpora, self._clock, self._stopping)
        call = connection.put_corpora(upload.requests())
        end = follow(call, upload.take, lambda: upload.idle_seconds() > self._patience, self._stopping)
        upload.end()
        if upload.unfinished is None:
            self._backoff.reset()
            self._patience = PATIENCE_SECONDS
            self.last_error = ""
            self._failures.end()
        elif not self._stopping.is_set():
            self._note(upload.unfinished, end)

    def _note(self, memory_hash: str, end: CallEnd) -> None:
        self.last_error = f"corpus {memory_hash}: {end.text}"
        self._failures.begin("corpora wait in the spool: %s", end.text)
        if end.reason in FINAL_REASONS:
            self._corpora.lose(memory_hash, end.text)
            return
        self._patience = min(2 * self._patience, LAST_PATIENCE_SECONDS)
        seconds = self._backoff.next_seconds()
        self._corpora.put_off(memory_hash, seconds)
        self._stopping.wait(seconds)


class CorpusUpload:
    """One PutCorpus stream. `requests` runs on the call's own thread, `take` on the one that reads answers.

    `unfinished` is the hash of a corpus that has begun and is neither stored nor lost.
    """

    def __init__(self, corpora: CorpusSpool, clock: Clock, stopping: threading.Event) -> None:
        self.unfinished: str | None = None
        self._corpora = corpora
        self._clock = clock
        self._stopping = stopping
        self._answers: queue.SimpleQueue[pb.PutCorpusResponse | None] = queue.SimpleQueue()
        self._moved_us = clock.monotonic_us()

    def take(self, answer: pb.PutCorpusResponse) -> None:
        """Take an answer."""
        self._move()
        self._answers.put(answer)

    def end(self) -> None:
        """Tell that no answer follows."""
        self._answers.put(None)

    def idle_seconds(self) -> float:
        """Return how long nothing was sent or answered."""
        return (self._clock.monotonic_us() - self._moved_us) / _MICROSECONDS

    def requests(self) -> Iterator[bytes]:
        """Yield the frames of every corpus that is wanted, until there is none or one cannot be put."""
        while not self._stopping.is_set() and (memory_hash := self._corpora.next_wanted()) is not None:
            self.unfinished = memory_hash
            try:
                for frame in self._put(memory_hash):
                    self._move()
                    yield frame
            except CorpusLost as lost:
                self.unfinished = None
                self._corpora.lose(memory_hash, str(lost))
                return
            except (OSError, EOFError) as error:
                _LOG.debug("the corpus %s waits: %s", memory_hash, error)
                return
            self.unfinished = None
            self._corpora.stored(memory_hash)

    def _put(self, memory_hash: str) -> Iterator[bytes]:
        memory = self._corpora.memory(memory_hash)
        yield from corpus_frames(memory)
        while (answer := self._answer()).WhichOneof("outcome") == "missing":
            yield from self._blob_frames(memory, answer.missing.digests)

    def _answer(self) -> pb.PutCorpusResponse:
        answer = self._answers.get()
        if answer is None:
            raise EOFError("history ended the stream")
        return answer

    def _blob_frames(self, memory: EffectiveMemory, digests: Sequence[str]) -> Iterator[bytes]:
        """Yield the bodies in order, in frames of at most 1 MiB of content."""
        parts: list[pb.BlobPart] = []
        room = FRAME_BYTES
        for digest in digests:
            for part in self._parts(memory.project_id, digest):
                if parts and len(part.content) + PART_BYTES > room:
                    yield _blob_frame(parts)
                    parts, room = [], FRAME_BYTES
                parts.append(part)
                room -= len(part.content) + PART_BYTES
        if parts:
            yield _blob_frame(parts)

    def _parts(self, project_id: str, digest: str) -> Iterator[pb.BlobPart]:
        """Yield a body in parts of at most 1 MiB; one of an empty body."""
        with self._corpora.open_body(project_id, digest) as body:
            offset = 0
            while (content := body.read(FRAME_BYTES)) or offset == 0:
                yield pb.BlobPart(digest=digest, offset=offset, content=content)
                offset += len(content)
                if not content:
                    return

    def _move(self) -> None:
        self._moved_us = self._clock.monotonic_us()


def _blob_frame(parts: Sequence[pb.BlobPart]) -> bytes:
    return pb.PutCorpusRequest(blobs=pb.BlobFrame(parts=parts)).SerializeToString()

"""The journal: every Run that history has not confirmed, on disk before its reply leaves."""

import fcntl
import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ranker_service.memory.durable import make_directory
from ranker_service.recorder.record import Damaged, RunRecord, decode_record, record_pieces, scan
from ranker_service.recorder.segment import Segment, segment_numbers

DEFAULT_LIMIT_BYTES = 2 * 1024**3
SEGMENT_BYTES = 8 * 1024**2
SPENT_BYTES = 1024**2
"""A segment whose records are all confirmed is replaced once it is this large, or idle."""
_LOG = logging.getLogger(__name__)
_sync: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync


class JournalFull(Exception):
    """The cap on the spool is reached."""


class JournalInUse(Exception):
    """Another process has the journal open."""


class Pending(NamedTuple):
    """Where a Run that history has not confirmed lies; the lower one is the older one."""

    segment: int
    offset: int
    length: int
    run_id: str
    effective_memory_hash: str


class Journal:
    """Append-only segments in one directory, owner-only. Every public method is safe to call from any thread.

    What `append` returned survives the end of the process at once and a power failure after the next `sync`.
    `other_bytes` says what else in the spool counts against the cap.
    """

    def __init__(self, directory: Path, limit_bytes: int, other_bytes: Callable[[], int] = lambda: 0) -> None:
        self.limit_bytes = limit_bytes
        self.damaged_count = 0
        self._directory = directory
        self._other_bytes = other_bytes
        self._segment_bytes = min(SEGMENT_BYTES, max(limit_bytes // 16, 1))
        self._lock = threading.Lock()
        self._active: Segment | None = None
        self._bytes = 0
        make_directory(directory)
        self._lock_file = _lock(directory)
        self._segments: dict[int, Segment] = {}
        self._recovered: list[Pending] = []
        numbers = segment_numbers(directory)
        for number in numbers:
            self._recover(Segment(directory, number))
        self._next_number = self._synced_number = max(numbers, default=0) + 1

    def recovered(self) -> list[Pending]:
        """Return, once, what an earlier process left, oldest first."""
        recovered, self._recovered = self._recovered, []
        return recovered

    @property
    def pending_count(self) -> int:
        """Runs that history has not confirmed."""
        with self._lock:
            return sum(segment.pending for segment in self._segments.values())

    @property
    def used_bytes(self) -> int:
        """Bytes on disk that count against the cap."""
        with self._lock:
            return self._used()

    def append(self, run_id: str, effective_memory_hash: str, frames: Sequence[Sequence[bytes]]) -> Pending:
        """Write a Run, each frame given in pieces; raise JournalFull or OSError, and then nothing of it is kept."""
        pieces = record_pieces(run_id, effective_memory_hash, frames)
        length = sum(map(len, pieces))
        with self._lock:
            if self._used() + length > self.limit_bytes:
                raise JournalFull(f"the spool holds {self._used()} of {self.limit_bytes} bytes")
            segment = self._writable(length)
            offset = segment.append(pieces, length)
            self._bytes += length
            return Pending(segment.number, offset, length, run_id, effective_memory_hash)

    def read(self, pending: Pending) -> RunRecord:
        """Read a pending Run; raise RecordDamaged or OSError."""
        descriptor = os.open(self._segments[pending.segment].path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            content = os.pread(descriptor, pending.length, pending.offset)
        finally:
            os.close(descriptor)
        return decode_record(content)[0]

    def acknowledge(self, pending: Pending) -> None:
        """Let go of a Run. A note that cannot be written only means that a restart delivers the Run again."""
        with self._lock:
            segment = self._segments[pending.segment]
            try:
                segment.acknowledge(pending.offset)
            except OSError as error:
                _LOG.debug("the journal could not note a confirmed Run: %s", error)
            spent = segment.pending == 0 and (segment is not self._active or segment.size >= SPENT_BYTES)
            if spent:
                self._forget(segment)
        if spent:
            segment.remove()

    def retire_idle(self) -> None:
        """Delete the segment being written if history has confirmed all of it."""
        with self._lock:
            segment = self._active
            if segment is None or segment.pending or not segment.size:
                return
            self._forget(segment)
        segment.remove()

    def sync(self) -> None:
        """Bring everything written to the disk; raise OSError."""
        with self._lock:
            unsynced = [(s, s.size) for s in self._segments.values() if s.size > s.synced_size]
            number = self._next_number
        for segment, _ in unsynced:
            _sync_path(segment.path)
        if number != self._synced_number:
            _sync_path(self._directory)
        self._synced_number = number
        for segment, size in unsynced:
            segment.synced_size = size

    def close(self) -> None:
        """Bring everything to the disk and close."""
        self.retire_idle()
        self.sync()
        with self._lock:
            for segment in self._segments.values():
                segment.close()
            self._active = None
            os.close(self._lock_file)

    def _used(self) -> int:
        return self._bytes + self._other_bytes()

    def _writable(self, length: int) -> Segment:
        """Return the segment to write to: the active one, or a new one where that is torn or would grow too large."""
        active = self._active
        if active is not None and not active.torn and (not active.size or active.size + length <= self._segment_bytes):
            return active
        segment = Segment.create(self._directory, self._next_number)
        self._next_number += 1
        if active is not None:
            active.close()
            if not active.pending:
                self._forget(active)
                active.remove()
        self._segments[segment.number] = self._active = segment
        return segment

    def _forget(self, segment: Segment) -> None:
        del self._segments[segment.number]
        self._bytes -= segment.size
        if segment is self._active:
            self._active = None

    def _recover(self, segment: Segment) -> None:
        """Take up what an earlier process wrote; damaged bytes are skipped, and nothing else with them."""
        try:
            acknowledged = segment.acknowledged()
            content = segment.path.read_bytes()
        except OSError as error:
            self.damaged_count += 1
            _LOG.warning("%s cannot be read and is left where it is: %s", segment.path, error)
            return
        for part in scan(content):
            if isinstance(part, Damaged):
                self._report(segment, part)
            elif part.offset not in acknowledged:
                record = part.record
                memory_hash = record.effective_memory_hash
                self._recovered.append(Pending(segment.number, part.offset, part.length, record.run_id, memory_hash))
                segment.pending += 1
        segment.size = segment.synced_size = len(content)
        if segment.pending:
            self._segments[segment.number] = segment
            self._bytes += segment.size
        else:
            segment.remove()

    def _report(self, segment: Segment, part: Damaged) -> None:
        if part.torn:
            _LOG.info("%s ends in %d bytes of a Run that was being written", segment.path.name, part.length)
            return
        self.damaged_count += 1
        _LOG.warning("%s is damaged at byte %d: skipped %d bytes", segment.path.name, part.offset, part.length)


def _lock(directory: Path) -> int:
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise JournalInUse(f"{directory} belongs to another ranker process: stop it first") from error
    return descriptor


def _sync_path(path: Path) -> None:
    """Sync a file or directory; one that history has confirmed meanwhile is gone, and that is well."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        _sync(descriptor)
    finally:
        os.close(descriptor)

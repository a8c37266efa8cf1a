"""Corpora that were put and wait for their first Run."""

import threading

from history_service.domain.clock import Clock


class AwaitedCorpora:
    """Effective Memory hashes whose Runs are on their way, each for a grace period.

    No Run refers to such a manifest yet, and a collection must leave it alone all the same: its sender was told that
    Runs with it will be recorded.
    """

    def __init__(self, monotonic: Clock, grace_us: int) -> None:
        self._monotonic = monotonic
        self._grace_us = grace_us
        self._until: dict[str, int] = {}
        self._lock = threading.Lock()

    def expect(self, effective_memory_hash: str) -> None:
        """Say that the manifest is about to be stored; before it is."""
        with self._lock:
            self._until[effective_memory_hash] = self._monotonic() + self._grace_us

    def arrived(self, effective_memory_hash: str) -> None:
        """Say that a Run with it is on disk, which keeps it from now on."""
        with self._lock:
            self._until.pop(effective_memory_hash, None)

    def hashes(self) -> frozenset[str]:
        """Return the hashes that are awaited now."""
        now = self._monotonic()
        with self._lock:
            self._until = {name: until for name, until in self._until.items() if until > now}
            return frozenset(self._until)

"""How many calls of each kind are served at once.

All limits together stay below the number of workers, so that a call within its limit never waits for one beyond it, and
health always has a worker.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from history_service.domain.errors import Overloaded

HEALTH_WORKERS = 8


class CallLimits:
    """Counts the calls under way. `streams` holds the methods that have a limit of their own, by full name."""

    def __init__(self, streams: Mapping[str, int], other_calls: int) -> None:
        self._streams = dict(streams)
        self._other_calls = other_calls
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def worker_count(self) -> int:
        """Threads that the server needs."""
        return sum(self._streams.values()) + self._other_calls + HEALTH_WORKERS

    def under_way(self, method: str) -> int:
        """Return how many calls of a limited method are served now."""
        with self._lock:
            return self._under_way[method]

    @contextmanager
    def slot(self, method: str) -> Iterator[None]:
        """Count a call while it is served; raise Overloaded at once when it is one too many."""
        kind = method if method in self._streams else ""
        limit = self._streams.get(kind, self._other_calls)
        with self._lock:
            if self._under_way[kind] >= limit:
                raise Overloaded(
                    f"calls of {method.rpartition('/')[2]} under way" if kind else "calls under way", limit
                )
            self._under_way[kind] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[kind] -= 1

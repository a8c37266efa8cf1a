"""How many calls of each kind are served at once, and how long one may take.

All limits together stay below the number of workers, so that a call within its limit never waits for one beyond it, and
health always has a worker.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ranktrail_serving.ceilings import CeilingWatch
from ranktrail_serving.errors import Overloaded

HEALTH_WORKERS = 8
CEILING_SECONDS = 3_600.0
"""Of a streamed call without a ceiling of its own, so that no caller that stalls holds a worker for good."""


class CallLimits:
    """Counts the calls under way, and ends streams that go on for too long.

    `streams` holds the methods that have a limit of their own, by full name, and `ceilings` the seconds of those whose
    streams may take another time than CEILING_SECONDS: `math.inf` where a stream is meant to stay open.
    """

    def __init__(
        self, streams: Mapping[str, int], other_calls: int, ceilings: Mapping[str, float] | None = None
    ) -> None:
        self._streams = dict(streams)
        self._other_calls = other_calls
        self._ceilings = dict(ceilings or {})
        self._watch = CeilingWatch()
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

    @contextmanager
    def ceiling(self, method: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Call `cancel` once the block has taken longer than the method's streams may."""
        seconds = self._ceilings.get(method, CEILING_SECONDS)
        if seconds == math.inf:
            yield
            return
        key = self._watch.add(method, seconds, cancel)
        try:
            yield
        finally:
            self._watch.drop(key)

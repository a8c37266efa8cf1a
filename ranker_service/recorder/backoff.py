"""Exponential back-off with jitter."""

from collections.abc import Callable

FIRST_SECONDS = 0.1
LAST_SECONDS = 5.0


class Backoff:
    """How long to wait before each next attempt; `jitter` returns numbers from 0 to 1."""

    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._seconds = FIRST_SECONDS

    def next_seconds(self) -> float:
        """Return the next wait: twice the last one up to five seconds, less up to half of it."""
        seconds, self._seconds = self._seconds, min(2 * self._seconds, LAST_SECONDS)
        return seconds * (1 - self._jitter() / 2)

    def reset(self) -> None:
        """Begin again with the shortest wait."""
        self._seconds = FIRST_SECONDS

"""Failures that last: one log line when they begin, one when they end."""

import logging
import threading


class Episode:
    """A stretch of failures of one kind. Safe to call from any thread."""

    def __init__(self, log: logging.Logger, over: str) -> None:
        self._log = log
        self._over = over
        self._lock = threading.Lock()
        self._count = 0

    @property
    def lasts(self) -> bool:
        """Whether it has begun and not ended."""
        return self._count > 0

    def begin(self, message: str, *arguments: object) -> None:
        """Count a failure; log it if it is the first."""
        with self._lock:
            self._count += 1
            first = self._count == 1
        if first:
            self._log.warning(message, *arguments)

    def end(self) -> None:
        """Tell of a success; log it if it ends failures."""
        if not self._count:
            return
        with self._lock:
            count, self._count = self._count, 0
        if count:
            self._log.info("%s, after %d failures", self._over, count)

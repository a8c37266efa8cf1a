"""Ends what has taken too long: one thread for all of it, since a timer each would cost a call a thread."""

import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)

STEP_SECONDS = 1.0
"""How much too late an end may come."""


class CeilingWatch:
    """Calls back what is still there after its time. Its thread runs while there is something to watch."""

    def __init__(self, step_seconds: float = STEP_SECONDS) -> None:
        self._step = step_seconds
        self._lock = threading.Lock()
        self._ends: dict[int, tuple[float, str, Callable[[], object]]] = {}
        self._next_key = 0
        self._is_running = False

    def add(self, what: str, seconds: float, end: Callable[[], object]) -> int:
        """Call `end` in so many seconds, and log `what` was ended; return the key to drop it by."""
        with self._lock:
            self._next_key += 1
            self._ends[self._next_key] = (time.monotonic() + seconds, what, end)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name="call-ceilings", daemon=True).start()
            return self._next_key

    def drop(self, key: int) -> None:
        """Forget one, whether it was called or not."""
        with self._lock:
            self._ends.pop(key, None)

    def _run(self) -> None:
        while self._is_running:
            time.sleep(self._step)
            for what, end in self._take_late(time.monotonic()):
                logger.warning("%s took longer than it may and was ended", what)
                end()

    def _take_late(self, now: float) -> list[tuple[str, Callable[[], object]]]:
        with self._lock:
            late = [key for key, (at, _, _) in self._ends.items() if at <= now]
            ends = [self._ends.pop(key)[1:] for key in late]
            self._is_running = bool(self._ends)
            return ends

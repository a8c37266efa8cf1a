"""Wakes whoever waits for Runs to change."""

import threading


class Changes:
    """Counts commits that changed Runs, so that a waiter misses none and holds nothing."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """How many there were."""
        return self._count

    def tell(self) -> None:
        """Wake all who wait; also for a waiter that is to look whether it should end."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait(self, seen: int, seconds: float | None = None) -> None:
        """Return once the count is not `seen` any more, or after so many seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, seconds)

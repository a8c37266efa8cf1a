"""The Runs that wait to be sent, oldest first."""

import heapq

from ranker_service.recorder.journal import Pending


class Backlog:
    """Runs that may be sent, Runs that wait for their corpus, and Runs that failed too often and wait for a time.

    Not safe for threads: the outbox's lock guards it.
    """

    def __init__(self) -> None:
        self._ready: list[Pending] = []
        self._blocked: dict[str, list[Pending]] = {}
        self._postponed: list[tuple[int, Pending]] = []

    def add(self, pending: Pending) -> None:
        """Put a Run, new or sent in vain, into its place."""
        heapq.heappush(self._ready, pending)

    def take(self, now_us: int) -> Pending | None:
        """Take the oldest Run that may be sent."""
        while self._postponed and self._postponed[0][0] <= now_us:
            self.add(heapq.heappop(self._postponed)[1])
        return heapq.heappop(self._ready) if self._ready else None

    def block(self, pending: Pending) -> None:
        """Let a Run wait for its corpus."""
        self._blocked.setdefault(pending.effective_memory_hash, []).append(pending)

    def unblock(self, memory_hash: str) -> None:
        """Let the Runs of a corpus go."""
        for pending in self._blocked.pop(memory_hash, []):
            self.add(pending)

    def postpone(self, pending: Pending, until_us: int) -> None:
        """Let a Run wait until then."""
        heapq.heappush(self._postponed, (until_us, pending))

    def next_due_us(self) -> int | None:
        """Return when the first postponed Run is due."""
        return self._postponed[0][0] if self._postponed else None

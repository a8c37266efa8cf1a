"""Brings the journal to the disk behind its writers' backs."""

import logging
import threading
from collections.abc import Callable

from ranker_service.recorder.episode import Episode
from ranker_service.recorder.journal import Journal

GATHER_SECONDS = 0.01
"""How long writes are gathered into one sync, which must be over 50 ms after the write. Meanwhile the reply leaves."""
IDLE_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


class Flusher:
    """A thread that syncs the journal soon after each write, and tidies it when nothing is written.

    `gathered` is called before each sync. A writer wakes this thread and no other, so that none competes with its
    reply.
    """

    def __init__(self, journal: Journal, gathered: Callable[[], None]) -> None:
        self._journal = journal
        self._gathered = gathered
        self._written = threading.Event()
        self._stopping = threading.Event()
        self._failures = Episode(_LOG, "the journal reaches the disk again")
        self._thread = threading.Thread(target=self._run, name="recorder-flusher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def written(self) -> None:
        """Tell that something was written."""
        self._written.set()

    def stop(self) -> None:
        """End; what was written since the last sync is left to the journal's `close`."""
        self._stopping.set()
        self._written.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if self._written.wait(IDLE_SECONDS):
                self._stopping.wait(GATHER_SECONDS)
                self._written.clear()
                self._gathered()
                self._sync()
            else:
                self._journal.retire_idle()

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except OSError as error:
            self._failures.begin("the journal could not be synced to the disk: %s", error)
        else:
            self._failures.end()

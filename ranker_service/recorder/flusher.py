"""Brings the journal to the disk behind its writers' backs."""

import logging
import threading
from collections.abc import Callable

from ranker_service.recorder.episode import Episode
from ranker_service.recorder.journal import Journal

GATHER_SECONDS = 0.01
"""How long writes are gathered into one sync, which must be over 50 ms after the write. Meanwhile the reply leaves."""
IDLE_SECONDS = 1.0
ATTENTIVE_LOOKS = 100
"""So many times after a write this thread looks for the next by itself, so that no reply spends time on waking it."""
_LOG = logging.getLogger(__name__)


class Flusher:
    """A thread that syncs the journal soon after each write, and tidies it when nothing is written.

    `gathered` is called before each sync, and wakes who sends what was written.
    """

    def __init__(self, journal: Journal, gathered: Callable[[], None]) -> None:
        self._journal = journal
        self._gathered = gathered
        self._written = False
        self._sleeps = False
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._failures = Episode(_LOG, "the journal reaches the disk again")
        self._thread = threading.Thread(target=self._run, name="recorder-flusher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def written(self) -> None:
        """Tell that something was written."""
        self._written = True
        if self._sleeps:
            self._woken.set()

    def stop(self) -> None:
        """End; what was written since the last sync is left to the journal's `close`."""
        self._stopping.set()
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        looks = ATTENTIVE_LOOKS
        while not self._stopping.is_set():
            self._rest(attentive=looks < ATTENTIVE_LOOKS)
            looks += 1
            if self._written:
                looks, self._written = 0, False
                self._gathered()
                self._sync()
            elif looks > ATTENTIVE_LOOKS:
                self._journal.retire_idle()

    def _rest(self, *, attentive: bool) -> None:
        """Wait until it is time to look; a write that comes before `_sleeps` is seen by the look behind it."""
        if not attentive:
            self._woken.clear()
            self._sleeps = True
            if not self._written and not self._stopping.is_set():
                self._woken.wait(IDLE_SECONDS)
            self._sleeps = False
        if attentive or self._written:
            self._stopping.wait(GATHER_SECONDS)

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except OSError as error:
            self._failures.begin("the journal could not be synced to the disk: %s", error)
        else:
            self._failures.end()

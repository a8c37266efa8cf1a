"""The two threads that know what happens: one follows Runs, one asks both services how they stand."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_client import Client, RanktrailError
from ranktrail_client.errors import Refused
from ranktrail_diagnostics.live import Broadcast, Event
from ranktrail_diagnostics.panels import RUNTIME_TOPIC, Panels

AGAIN_SECONDS = 1.0
POLL_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass
class Watching:
    """One watch of history for all browsers, and one poll while a browser reads."""

    client: Client
    broadcast: Broadcast
    panels: Panels
    _stopping: threading.Event = field(default_factory=threading.Event)
    _position: int | None = None

    def start(self) -> None:
        """Start both threads."""
        for work in (self._follow, self._poll):
            threading.Thread(target=self._keep, args=(work,), name=f"diagnostics {work.__name__}", daemon=True).start()

    def stop(self) -> None:
        """Let both threads end; the one that follows ends when the client is closed."""
        self._stopping.set()
        self.broadcast.has_readers.set()

    def _keep(self, work: Callable[[], None]) -> None:
        while not self._stopping.is_set():
            try:
                work()
            except RanktrailError as error:
                _log.debug("%s", error)
            except Exception:
                if self._stopping.is_set():
                    return
                _log.exception("watching goes on")
            self._stopping.wait(AGAIN_SECONDS)

    def _follow(self) -> None:
        request = pb.WatchRetrievalRunsRequest(after_change_sequence=self._position)
        try:
            for change in self.client.history.watch_retrieval_runs(request):
                self._position = change.change_sequence
                if change.HasField("run"):
                    self.panels.take(change.run)
                    self.broadcast.publish(Event("run", change.run))
        except Refused:  # the position is not from this history: another one stands at its address
            self._position = None

    def _poll(self) -> None:
        self.broadcast.has_readers.wait()
        if self._stopping.is_set():
            return
        for name, content in self.panels.changed(RUNTIME_TOPIC in self.broadcast.topics()):
            self.broadcast.publish(Event("panel", {"name": name, "html": content}))

"""How both services stand, as seen from here: what each said last, and since when it says nothing."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb2
from ranktrail_client import Client, RanktrailError

# A service that is well answers in milliseconds; one that keeps silent must not keep the page waiting.
PATIENCE_SECONDS = 2.0
Runtime = TypeVar("Runtime")


@dataclass(frozen=True, slots=True)
class Standing(Generic[Runtime]):
    """One service. `runtime` is the last it gave, `problem` why it gives none now, `since` when that began."""

    name: str
    address: str
    runtime: Runtime | None = None
    problem: str | None = "not asked yet"
    since: datetime | None = None

    @property
    def is_up(self) -> bool:
        """Whether it answered the last time it was asked."""
        return self.problem is None

    def answered(self, runtime: Runtime) -> "Standing[Runtime]":
        """Return how it stands after an answer."""
        return replace(self, runtime=runtime, problem=None, since=None)

    def failed(self, problem: str, now: datetime) -> "Standing[Runtime]":
        """Return how it stands after it did not answer; what it said last is kept."""
        return replace(self, problem=problem, since=self.since or now)


Ranker = Standing[ranker_pb2.GetRuntimeResponse]
History = Standing[history_pb2.GetRuntimeResponse]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Both services at one time."""

    ranker: Ranker
    history: History


@dataclass
class Services:
    """Asks both services for their runtime and remembers the answers. Safe to use from any thread."""

    client: Client
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _snapshot: Snapshot = field(init=False)

    def __post_init__(self) -> None:
        self._snapshot = Snapshot(
            Standing("ranker", self.client.ranker.address), Standing("history", self.client.history.address)
        )

    def snapshot(self) -> Snapshot:
        """Return what is known without asking."""
        return self._snapshot

    def ask(self) -> Snapshot:
        """Ask both, and return how they stand."""
        with self._lock:
            before = self._snapshot
            ranker = _asked(before.ranker, lambda: self.client.ranker.get_runtime(timeout=PATIENCE_SECONDS))
            history = _asked(before.history, lambda: self.client.history.get_runtime(timeout=PATIENCE_SECONDS))
            self._snapshot = Snapshot(ranker, history)
            return self._snapshot


def _asked(standing: Standing[Runtime], ask: Callable[[], Runtime]) -> Standing[Runtime]:
    try:
        return standing.answered(ask())
    except RanktrailError as error:
        return standing.failed(str(error), datetime.now(UTC))

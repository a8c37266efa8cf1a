"""How the recorder stands."""

import threading
from dataclasses import dataclass
from enum import Enum

from ranktrail.ranker.v1 import ranker_service_pb2 as pb


class RecorderState(Enum):
    """Whether Runs reach history; the value is the contract's word."""

    OFF = "off"
    CONNECTED = "connected"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class RecorderStatus:
    """Pending Runs and bytes as of now, counts since start, and why the last delivery failed ("" when it did not)."""

    state: RecorderState
    pending_run_count: int = 0
    spool_bytes: int = 0
    spool_limit_bytes: int = 0
    dropped_run_count: int = 0
    recorded_run_count: int = 0
    refused_run_count: int = 0
    damaged_run_count: int = 0
    last_error: str = ""


_STATES = {
    RecorderState.OFF: pb.RecorderRuntime.STATE_OFF,
    RecorderState.CONNECTED: pb.RecorderRuntime.STATE_CONNECTED,
    RecorderState.WAITING: pb.RecorderRuntime.STATE_WAITING,
}


def status_to_proto(status: RecorderStatus) -> pb.RecorderRuntime:
    """Convert a status; what the journal found damaged is only in the log."""
    return pb.RecorderRuntime(
        state=_STATES[status.state],
        pending_run_count=status.pending_run_count,
        spool_bytes=status.spool_bytes,
        spool_limit_bytes=status.spool_limit_bytes,
        dropped_run_count=status.dropped_run_count,
        recorded_run_count=status.recorded_run_count,
        refused_run_count=status.refused_run_count,
        last_error=status.last_error,
    )


class Counter:
    """A count that any thread may raise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.value = 0

    def add(self) -> None:
        """Raise it by one."""
        with self._lock:
            self.value += 1

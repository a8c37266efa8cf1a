"""One service under supervision: its process, and when the next one may start."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

# Seconds before a service that died starts again; one that served for STEADY_SECONDS begins the row anew.
RESTART_DELAYS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
STEADY_SECONDS = 60.0
STANDARD_ERROR = 2


@dataclass(slots=True)
class Supervised:
    """A service that is to be kept running. Times are seconds on a monotonic clock; `log` is a file descriptor."""

    name: str
    module: str
    arguments: Sequence[str]
    address: str
    is_healthy: Callable[[], bool]
    log: int = STANDARD_ERROR
    process: subprocess.Popen[bytes] | None = None
    serving_since: float | None = None
    has_served: bool = False
    start_at: float = 0.0
    _deaths: int = field(default=0)

    @property
    def is_serving(self) -> bool:
        """Whether its process runs and has answered a health check."""
        return self.serving_since is not None

    def start(self) -> None:
        """Start its process, in a process group of its own: Ctrl-C then reaches the supervisor alone.

        Must be called on the main thread: Linux counts the starting thread, not the process, as the parent.
        """
        bound = ("ranktrail_cli.bound_process", str(os.getpid()), self.module, *self.arguments)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", *bound],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            process_group=0,
        )

    def take_death(self, now: float) -> int | None:
        """Return the exit code of a process that has ended, and plan the next one; None while it runs."""
        code = None if self.process is None else self.process.poll()
        if code is None:
            return None
        if self.serving_since is not None and now - self.serving_since >= STEADY_SECONDS:
            self._deaths = 0
        self.start_at = now + RESTART_DELAYS[min(self._deaths, len(RESTART_DELAYS) - 1)]
        self._deaths += 1
        self.process, self.serving_since = None, None
        return code

    def check(self, now: float) -> bool:
        """Ask whether a process that does not serve yet does so now; return True when it has just begun."""
        if self.process is None or self.is_serving or not self.is_healthy():
            return False
        self.serving_since, self.has_served = now, True
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process group, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)

    def wait(self, timeout: float) -> bool:
        """Wait for its end; return whether it came."""
        if self.process is None:
            return True
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True


def ending(exit_code: int) -> str:
    """Return how a process ended, in words."""
    return f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"

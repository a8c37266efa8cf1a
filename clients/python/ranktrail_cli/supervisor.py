"""Runs both services as children, starts one again that dies, and ends both."""

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.supervised import STANDARD_ERROR, Supervised, ending
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError
from ranktrail_client.history import HistoryCalls
from ranktrail_client.ranker import RankerCalls

STEP_SECONDS = 0.1
HEALTH_SECONDS = 1.0
START_SECONDS = 180.0
"""A cold machine reads a model of a hundred megabytes."""
STOP_SECONDS = 30.0


class Events(Protocol):
    """Is told what becomes of the services."""

    def serving(self, service: Supervised) -> None:
        """Say that it serves."""

    def died(self, service: Supervised, exit_code: int, seconds: float) -> None:
        """Say that its process ended; the next one starts in `seconds`."""

    def killed(self, service: Supervised) -> None:
        """Say that it did not end in time and was killed."""


class Supervisor:
    """Both services of one data directory. Use on the main thread, and call `stop` whatever happened."""

    def __init__(self, services: Sequence[Supervised], events: Events) -> None:
        self._services = services
        self._events = events

    def start(self, is_stopping: Callable[[], bool] = lambda: False) -> None:
        """Start both and wait until both serve; raise CommandFailed when one ends, or does not serve in time."""
        deadline = time.monotonic() + START_SECONDS
        for service in self._services:
            service.start()
        while not is_stopping() and not all(service.is_serving for service in self._services):
            self._turn()
            if time.monotonic() > deadline:
                late = ", ".join(service.name for service in self._services if not service.is_serving)
                raise CommandFailed(
                    f"{late} does not serve after {START_SECONDS:.0f} seconds: its log says why", Exit.INCOMPLETE
                )
            time.sleep(STEP_SECONDS)

    def keep(self, is_stopping: Callable[[], bool]) -> None:
        """Keep both running until `is_stopping` says so."""
        while not is_stopping():
            self._turn()
            time.sleep(STEP_SECONDS)

    def _turn(self) -> None:
        now = time.monotonic()
        for service in self._services:
            code = service.take_death(now)
            if code is not None:
                self._report_death(service, code, now)
            elif service.process is None and now >= service.start_at:
                service.start()
            elif service.check(now):
                self._events.serving(service)

    def _report_death(self, service: Supervised, code: int, now: float) -> None:
        if not service.has_served:
            raise CommandFailed(
                f"{service.name} ended {ending(code)} before it served: its log says why", Exit.INCOMPLETE
            )
        self._events.died(service, code, service.start_at - now)

    def stop(self, is_hurried: Callable[[], bool] = lambda: False) -> None:
        """End both, the ranker first so that history takes its last Runs; kill one that lingers, or when hurried."""
        for service in self._services:
            service.signal(signal.SIGTERM)
            if not _ends(service, is_hurried):
                self._events.killed(service)
                service.signal(signal.SIGKILL)
                service.wait(STOP_SECONDS)


def _ends(service: Supervised, is_hurried: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while not service.wait(STEP_SECONDS):
        if is_hurried() or time.monotonic() > deadline:
            return False
    return True


def make_services(
    data_dir: Path,
    client: Client,
    *,
    ranker: str | None = None,
    history: str | None = None,
    ranker_options: Sequence[str] = (),
    history_options: Sequence[str] = (),
    log: int = STANDARD_ERROR,
) -> tuple[Supervised, Supervised]:
    """Return the ranker and history of a data directory, in the order in which they stop.

    `ranker_options` are options of `python -m ranker_service`, passed on as they are, and so are those of history.
    """
    place = ("--data-dir", str(data_dir))
    ranker_arguments = (*place, *_given("--address", ranker), *_given("--history", history), *ranker_options)
    history_arguments = (*place, *_given("--address", history), *history_options)
    return (
        _service("ranker", ranker_arguments, client.ranker, log),
        _service("history", history_arguments, client.history, log),
    )


def _given(option: str, value: str | None) -> tuple[str, ...]:
    return () if value is None else (option, value)


def _service(name: str, arguments: tuple[str, ...], calls: RankerCalls | HistoryCalls, log: int) -> Supervised:
    return Supervised(name, f"{name}_service", arguments, calls.address, lambda: is_healthy(calls), log)


def is_healthy(calls: RankerCalls | HistoryCalls) -> bool:
    """Say whether a service serves now."""
    try:
        return calls.check_health(HEALTH_SECONDS)
    except RanktrailError:
        return False

"""Progress on standard error: bars on a terminal, a line every few seconds anywhere else."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ranktrail_cli import synchronisation
from ranktrail_client.safe_text import safe_line

REMARK_SECONDS = 4.0
WAITING = "waiting for the index: "


class Silence:
    """Shows nothing."""

    def step(self, phase: str, done: int, total: int) -> None:
        """Ignore a step."""

    def note(self, text: str) -> None:
        """Ignore a note."""


class Remarks:
    """Says every REMARK_SECONDS how far a phase is, and nothing about what takes less.

    `prefix` stands before each phase but the client's own.
    """

    def __init__(
        self, remark: Callable[[str], None], clock: Callable[[], float] = time.monotonic, prefix: str = WAITING
    ) -> None:
        self._remark = remark
        self._prefix = prefix
        self._clock = clock
        self._said_at = clock()

    def step(self, phase: str, done: int, total: int) -> None:
        """Say how far `phase` is, when it is time to."""
        now = self._clock()
        if phase == synchronisation.READY_PHASE or now - self._said_at < REMARK_SECONDS:
            return
        self._said_at = now
        what = "" if phase in synchronisation.OWN_PHASES else self._prefix
        self._remark(f"{what}{phase} {done} of {total}" if total else f"{what}{phase}")

    def note(self, text: str) -> None:
        """Say it at once."""
        self._remark(text)


class Bars:
    """One bar a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._bars: dict[str, TaskID] = {}

    def step(self, phase: str, done: int, total: int) -> None:
        """Move the bar of `phase`, and make it when it is new."""
        if phase not in self._bars:
            self._end_bars()
            self._bars[phase] = self._progress.add_task(safe_line(phase), total=None)
        # A phase with nothing to do is done.
        shown = (1, 1) if total == done == 0 else (done, total or None)
        self._progress.update(self._bars[phase], completed=shown[0], total=shown[1])

    def note(self, text: str) -> None:
        """Say it above the bars."""
        self._progress.console.print(safe_line(text), markup=False, highlight=False)

    def _end_bars(self) -> None:
        """Fill the bars of the phases before: not every phase says that it has ended."""
        for task in self._progress.tasks:
            self._progress.update(task.id, completed=task.total or 0)


@contextmanager
def shown_progress(prefix: str = WAITING) -> Iterator[synchronisation.Progress]:
    """Show how far a long task is while the block runs."""
    if not sys.stderr.isatty():
        yield Remarks(_remark, prefix=prefix)
        return
    columns = (
        TextColumn("{task.description:>8}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)


def _remark(text: str) -> None:
    sys.stderr.write(safe_line(text) + "\n")
    sys.stderr.flush()

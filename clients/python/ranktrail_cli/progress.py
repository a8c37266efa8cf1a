"""Progress on a terminal's standard error, and silence anywhere else."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from ranktrail_cli import synchronisation
from ranktrail_client.safe_text import safe_line


class Silence:
    """Shows nothing."""

    def step(self, phase: str, done: int, total: int) -> None:
        """Ignore a step."""


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

    def _end_bars(self) -> None:
        """Fill the bars of the phases before: not every phase says that it has ended."""
        for task in self._progress.tasks:
            self._progress.update(task.id, completed=task.total or 0)


@contextmanager
def shown_progress() -> Iterator[synchronisation.Progress]:
    """Show bars while the block runs, where standard error is a terminal."""
    if not sys.stderr.isatty():
        yield Silence()
        return
    columns = (
        TextColumn("{task.description:>8}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield Bars(progress)

"""How many bytes have come, on standard error: a bar on a terminal, a line every few seconds anywhere else."""

import sys
import time
from collections.abc import Callable, Generator, Iterable

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn, TransferSpeedColumn

from ranktrail_cli.progress import REMARK_SECONDS
from ranktrail_cli.sizes import size_words


def shown_bytes(
    pieces: Iterable[bytes], what: str, remark: Callable[[str], None], clock: Callable[[], float] = time.monotonic
) -> Generator[bytes]:
    """Yield `pieces` and show how many bytes there were; `what` happens to them, such as "exported"."""
    if sys.stderr.isatty():
        yield from _with_bar(pieces, what)
        return
    said_at, size = clock(), 0
    for piece in pieces:
        size += len(piece)
        if clock() - said_at >= REMARK_SECONDS:
            said_at = clock()
            remark(f"{what} {size_words(size)}")
        yield piece


def _with_bar(pieces: Iterable[bytes], what: str) -> Generator[bytes]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        # How long it will be, nobody says before its end.
        task = progress.add_task(what, total=None)
        for piece in pieces:
            progress.advance(task, len(piece))
            yield piece

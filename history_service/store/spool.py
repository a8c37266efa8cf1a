"""Files without a name: what a process has of them goes with it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast


@contextmanager
def spooled(directory: Path) -> Iterator[BinaryIO]:
    """Lend an empty file on the disk of a directory, owner-only and without a name in it, for as long as it lasts."""
    with tempfile.TemporaryFile(dir=directory) as file:
        yield cast(BinaryIO, file)

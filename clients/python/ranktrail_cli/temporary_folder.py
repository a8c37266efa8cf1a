"""A folder for the length of a command, and an end by SIGTERM that leaves none behind."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What a folder's path may have, so that a socket below it still has an address.
LONGEST_PATH = 60


@contextmanager
def short_folder() -> Iterator[Path]:
    """Give a new folder, owner-only, that takes sockets, and remove it."""
    place = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="rt-", dir=place if len(place) < LONGEST_PATH else "/tmp"))  # noqa: S108
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def end_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end a command the way Ctrl-C does, so that nothing stays behind."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""How long a streamed answer waits for a caller that has stopped reading."""

import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

STALL_SECONDS = 5
"""After the time that something may take, for a caller that still reads to be told."""
Part = TypeVar("Part")


def within(parts: Generator[Part], seconds: float, cancel: Callable[[], object]) -> Iterator[Part]:
    """Yield the parts of something that has a limit of `seconds` itself, and close it whatever happens.

    A caller that stops reading is cancelled: nothing can be raised to it, and what it reads holds on to things.
    """
    stalled = threading.Timer(seconds + STALL_SECONDS, cancel)
    stalled.daemon = True
    stalled.start()
    try:
        yield from parts
    finally:
        stalled.cancel()
        parts.close()

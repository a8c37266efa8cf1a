"""Batches of equal length, and their way over the cores.

Padding changes how low-precision kernels round, so only texts of the same token count share a batch. Then a text's
result is the same, bit for bit, alone and beside others.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

MAX_BATCH = 16
"""More texts gain less than 3% where they have 64 tokens, and nothing where they have more."""
MAX_BATCH_TOKENS = 1_024
_BACKGROUND_NICENESS = 10
_PROBED_LENGTHS = (5, 12, 31, 130)
_PROBED_BATCH = 3
_PROBED_IDS = 16

Forward = Callable[[NDArray[np.int64]], NDArray[Any]]
"""A model's forward pass: token ids (texts, tokens) to one result a text."""


def batch_limit(forward: Forward, window: int) -> int:
    """Return how many texts may share a batch: 1 where a text's result is another one beside others than alone.

    Asked of this CPU each time a model is loaded, since its kernels decide.
    """
    for length in (length for length in _PROBED_LENGTHS if length <= window):
        starts = np.arange(_PROBED_BATCH, dtype=np.int64)[:, None]
        texts = (starts + np.arange(length, dtype=np.int64)) % _PROBED_IDS
        together = forward(texts)
        if any(not np.array_equal(forward(texts[row : row + 1])[0], together[row]) for row in range(_PROBED_BATCH)):
            return 1
    return MAX_BATCH


def equal_length_batches(lengths: Sequence[int], max_batch: int) -> list[list[int]]:
    """Return the positions of `lengths` in batches of one length each, the longest first, so that no core ends late."""
    order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
    batches: list[list[int]] = []
    for length, group in groupby(order, key=lengths.__getitem__):
        positions = list(group)
        size = max(1, min(max_batch, MAX_BATCH_TOKENS // max(1, length)))
        batches += [positions[start : start + size] for start in range(0, len(positions), size)]
    return batches


def on_all_cores(
    work: Callable[[list[int]], Result], batches: Sequence[list[int]], *, background: bool
) -> Iterator[Result]:
    """Yield what `work` makes of each batch, in their order, a thread a core.

    Only a few results wait at a time, so that memory stays bounded. `background` work leaves the cores to others.
    """
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers, "models", _stand_back if background else None) as executor:
        waiting: deque[Future[Result]] = deque()
        try:
            for batch in batches:
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
                waiting.append(executor.submit(work, batch))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _stand_back() -> None:
    """Let a query that comes while a corpus is encoded have the core first; Linux ranks threads one by one."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _BACKGROUND_NICENESS)

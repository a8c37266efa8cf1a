"""Token vectors on disk: one block a unit; those that the system does not hold in memory are read in parallel.

A block is the scales, float16, then the values, int8, padded to eight bytes; all little-endian.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import TokenVectors

_READERS = 4
_WITHOUT_WAITING = getattr(os, "RWF_NOWAIT", 0)  # only Linux can say whether a read would wait for the disk


def packed(vectors: TokenVectors) -> bytes:
    """Return a unit's block."""
    content = vectors.scales.astype("<f2").tobytes() + vectors.values.tobytes()
    return content + bytes(-len(content) % 8)


def block_sizes(token_counts: NDArray[Any], dimension: int) -> NDArray[np.uint64]:
    """Return the bytes of blocks of so many tokens each."""
    sizes = token_counts.astype(np.uint64) * np.uint64(2 + dimension)
    return (sizes + np.uint64(7)) // np.uint64(8) * np.uint64(8)


def block_sum(block: NDArray[np.uint8]) -> int:
    """Return the sum of a block's words, modulo 2^64.

    It costs 4 us for 80 KB where a CRC-32 costs 60, so every read can afford it.
    """
    return int(block.view("<u8").sum(dtype=np.uint64))


class BlockReader:
    """Reads blocks of one open file on a few threads of its own, so that several can wait for the disk at once.

    `read` may be called from any thread.
    """

    def __init__(self, descriptor: int, dimension: int) -> None:
        self._descriptor = descriptor
        self._dimension = dimension
        self._threads = ThreadPoolExecutor(_READERS, thread_name_prefix="token-vectors")

    def read(
        self, offsets: Sequence[int], token_counts: NDArray[Any], sums: Sequence[int]
    ) -> tuple[list[TokenVectors], NDArray[np.bool_]]:
        """Return the token vectors of blocks, and of each block whether it is what was written."""
        sizes = block_sizes(token_counts, self._dimension).tolist()
        buffer, slots, start = np.empty(sum(sizes), np.uint8), [], 0
        for size in sizes:
            slots.append(buffer[start : start + size])
            start += size
        jobs = list(zip(slots, offsets, sums, strict=True))
        is_whole = np.array([_WITHOUT_WAITING and self._is_read(*job, _WITHOUT_WAITING) for job in jobs], np.bool_)
        late = np.flatnonzero(~is_whole).tolist()
        is_whole[late] = list(self._threads.map(lambda position: self._is_read(*jobs[position]), late))
        unpacked = [self._unpacked(slot, int(count)) for slot, count in zip(slots, token_counts, strict=True)]
        return unpacked, is_whole

    def close(self) -> None:
        """End the threads and let go of the file, which is the caller's."""
        self._threads.shutdown()
        self._descriptor = -1

    def _is_read(self, slot: NDArray[np.uint8], offset: int, total: int, flags: int = 0) -> bool:
        return _fill(self._descriptor, slot, offset, flags) and block_sum(slot) == total

    def _unpacked(self, block: NDArray[np.uint8], count: int) -> TokenVectors:
        scales = block[: 2 * count].view("<f2")
        values = block[2 * count : (2 + self._dimension) * count].view(np.int8).reshape(count, self._dimension)
        return TokenVectors(values, scales)


def _fill(descriptor: int, slot: NDArray[np.uint8], offset: int, flags: int) -> bool:
    """Fill the slot from the file; say whether the file, or what may be read of it, reaches that far."""
    rest = memoryview(slot.data)
    while rest:
        try:
            count = os.preadv(descriptor, [rest], offset, flags)
        except BlockingIOError:
            return False
        if count == 0:
            return False
        rest, offset = rest[count:], offset + count
    return True

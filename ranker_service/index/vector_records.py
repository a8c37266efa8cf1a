"""The log of a vector store: one fixed-size record for each unit that was encoded.

Record i belongs to row i of the pooled vectors. It is written once what it speaks of is on disk, and carries a sum of
its own words, so a record that is whole speaks of vectors that are whole.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ranker_service.index.token_blocks import block_sizes

RECORD = np.dtype(
    [
        ("key", "V32"),
        ("vector_sum", "<u8"),
        ("token_sum", "<u8"),
        ("token_offset", "<u8"),
        ("token_count", "<u4"),
        ("record_sum", "<u4"),
    ]
)
NO_TOKENS = 0xFFFFFFFF
"""The token count of a record whose token vectors were not kept."""

_SALT = 0x52414E4B  # so that a record of zeros is not whole


def blank_records(count: int) -> NDArray[Any]:
    """Return records to fill in."""
    return np.zeros(count, RECORD)


def seal(records: NDArray[Any]) -> bytes:
    """Put its sum into each record and return the bytes to write."""
    records["record_sum"] = _record_sums(records)
    return records.tobytes()


def read_records(descriptor: int) -> NDArray[Any]:
    """Return every record of the log, whole or not; a torn last one is left out."""
    count = os.fstat(descriptor).st_size // RECORD.itemsize
    return np.frombuffer(bytearray(os.pread(descriptor, count * RECORD.itemsize, 0)), RECORD)


def whole_rows(records: NDArray[Any], dimension: int, vector_bytes: int, token_bytes: int) -> NDArray[np.intp]:
    """Return the positions of records that are whole and speak of bytes that the two vector files have."""
    is_whole = _record_sums(records) == records["record_sum"]
    is_whole &= np.arange(len(records)) < vector_bytes // (4 * dimension)
    is_whole &= _token_ends(records, dimension) <= np.uint64(token_bytes)
    return np.flatnonzero(is_whole)


def token_end(records: NDArray[Any], dimension: int) -> int:
    """Return where the last block of whole records ends."""
    return int(_token_ends(records, dimension).max(initial=0))


def vector_sums(matrix: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the sum of the words of each row, little-endian float32."""
    return np.asarray(matrix.view("<u4").sum(axis=1, dtype=np.uint64))


def _token_ends(records: NDArray[Any], dimension: int) -> NDArray[np.uint64]:
    """Return where each record's block ends; 0 where it has none."""
    ends = records["token_offset"] + block_sizes(records["token_count"], dimension)
    return np.where(records["token_count"] == NO_TOKENS, np.uint64(0), ends)


def _record_sums(records: NDArray[Any]) -> NDArray[np.uint32]:
    words = np.frombuffer(records.tobytes(), "<u4").reshape(-1, RECORD.itemsize // 4)[:, :-1]
    return np.asarray(words.sum(axis=1, dtype=np.uint32) + np.uint32(_SALT))

"""Vectors by the digest of the exact encoder input, in files that only grow.

    keys.bin     the log: one record for each unit that was encoded (vector_records)
    vectors.bin  pooled vectors, float32, little-endian
    tokens.bin   token vectors (token_blocks)
    store.json   model revision and dimension

Both vector files are synced before the log is written. What a crash leaves behind the last whole record is overwritten.
"""

import errno
import fcntl
import mmap
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import TokenVectors, UnitEncoding
from ranker_service.index.directions import lengths, require_shape
from ranker_service.index.files import IndexDamaged, read_sidecar, sync_directory, write_sidecar
from ranker_service.index.token_blocks import BlockReader, block_sizes, block_sum, packed
from ranker_service.index.vector_records import (
    NO_TOKENS,
    RECORD,
    blank_records,
    read_records,
    seal,
    token_end,
    vector_sums,
    whole_rows,
)

_FORMAT = 1
CLOSED = -1
"""No descriptor: the number of a closed one may be another file's by now."""
_SIDECAR = "store.json"
_FILES = ("keys.bin", "vectors.bin", "tokens.bin")


class StoreMismatch(IndexDamaged):
    """The store belongs to another model revision or dimension; begin a new one."""


class StoreInUse(RuntimeError):
    """Another process, or another store of this process, appends to these files."""


class VectorStore:
    """Pooled and token vectors of one model revision. Any number of threads may read while one appends."""

    def __init__(self, directory: Path, dimension: int, model_revision: str) -> None:
        """Open or create; raise StoreMismatch where it belongs to another model, IndexDamaged where it is no store."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_sidecar(directory, {"format": _FORMAT, "dimension": dimension, "model_revision": model_revision})
        self.dimension = dimension
        self.model_revision = model_revision
        self._writing = threading.Lock()
        self._is_writer = False
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._log, self._vectors, self._tokens = (os.open(directory / name, flags, 0o600) for name in _FILES)
        sync_directory(directory)
        self._blocks = BlockReader(self._tokens, dimension)
        self._load()

    @classmethod
    def open_or_begin_anew(cls, directory: Path, dimension: int, model_revision: str) -> Self:
        """Open; where the store cannot be trusted or belongs to another model, remove it and begin a new one."""
        try:
            return cls(directory, dimension, model_revision)
        except IndexDamaged:
            for name in (_SIDECAR, *_FILES):
                (directory / name).unlink(missing_ok=True)
            return cls(directory, dimension, model_revision)

    def __len__(self) -> int:
        return len(self._rows)

    def missing(self, keys: Iterable[str], *, with_token_vectors: bool) -> list[str]:
        """Return, once each and in order, the keys whose vectors (and token vectors, where asked for) are not here."""
        return [key for key in dict.fromkeys(keys) if not self._has(key, with_token_vectors)]

    def append(self, pairs: Iterable[tuple[str, UnitEncoding]]) -> None:
        """Add encodings, durably; a key that is here already is superseded.

        Raises VectorRefused for a vector of another shape or without a direction, StoreInUse where somebody else
        appends.
        """
        keys, encodings = _unzipped(pairs)
        if not keys:
            return
        require_shape([encoding.vector for encoding in encodings], self.dimension)
        matrix = np.stack([encoding.vector for encoding in encodings]).astype("<f4", copy=False)
        lengths(matrix)
        with self._writing:
            if self._log == CLOSED:
                raise OSError(errno.EBADF, "the vector store is closed")
            self._become_writer()
            records = blank_records(len(keys))
            records["key"] = [bytes.fromhex(key) for key in keys]
            records["vector_sum"] = vector_sums(matrix)
            end = self._write_tokens(records, [encoding.token_vectors for encoding in encodings])
            _write(self._vectors, matrix.tobytes(), self._count * self._row_bytes)
            _write(self._log, seal(records), self._count * RECORD.itemsize)
            self._token_end = end
            self._publish(records)

    def vectors(self, keys: Sequence[str]) -> NDArray[np.float32]:
        """Return pooled vectors, shape (keys, dimension); raise IndexDamaged where one is missing or was changed."""
        rows = self._rows_of(keys)
        if rows.size == 0:
            return np.empty((0, self.dimension), np.float32)
        matrix = self._gathered(rows)
        self._require_whole(keys, vector_sums(matrix) == self._records["vector_sum"][rows])
        return matrix.astype(np.float32, copy=False)

    def token_vectors(self, keys: Sequence[str]) -> list[TokenVectors]:
        """Return token vectors, read in parallel; raise IndexDamaged where some are missing or were changed."""
        records = self._records[self._rows_of(keys)]
        counts = records["token_count"]
        self._require_whole(keys, counts != NO_TOKENS)
        found, is_whole = self._blocks.read(records["token_offset"].tolist(), counts, records["token_sum"].tolist())
        self._require_whole(keys, is_whole)
        return found

    def token_vector_bytes(self, keys: Iterable[str]) -> int:
        """Return the bytes that the token vectors of distinct keys take on disk."""
        counts = self._records["token_count"][self._rows_of(list(dict.fromkeys(keys)))]
        return int(block_sizes(counts[counts != NO_TOKENS], self.dimension).sum())

    def close(self) -> None:
        """Close the files, once an append under way has ended; whoever uses the store afterwards gets an OSError."""
        with self._writing:
            self._blocks.close()
            descriptors = (self._log, self._vectors, self._tokens)
            self._log = self._vectors = self._tokens = CLOSED
            for descriptor in descriptors:
                os.close(descriptor)

    @property
    def _row_bytes(self) -> int:
        return 4 * self.dimension

    def _load(self) -> None:
        """Read the log; a later record of a key stands over an earlier one."""
        self._records = read_records(self._log)
        self._count = len(self._records)
        sizes = os.fstat(self._vectors).st_size, os.fstat(self._tokens).st_size
        rows = whole_rows(self._records, self.dimension, *sizes)
        self._token_end = token_end(self._records[rows], self.dimension)
        self._rows: dict[bytes, int] = dict(zip(self._records["key"][rows].tolist(), rows.tolist(), strict=True))

    def _become_writer(self) -> None:
        """Keep others from appending, and see what an earlier writer appended since this store was opened."""
        if self._is_writer:
            return
        try:
            fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreInUse("another process appends to this vector store") from error
        self._is_writer = True
        self._load()

    def _write_tokens(self, records: NDArray[Any], token_vectors: Sequence[TokenVectors | None]) -> int:
        """Write the blocks and say in the records where they are; return where the next block goes."""
        end, blocks = self._token_end, []
        for i, vectors in enumerate(token_vectors):
            block = b"" if vectors is None else packed(vectors)
            records["token_count"][i] = NO_TOKENS if vectors is None else len(vectors.scales)
            records["token_offset"][i] = end
            records["token_sum"][i] = block_sum(np.frombuffer(block, np.uint8))
            blocks.append(block)
            end += len(block)
        _write(self._tokens, b"".join(blocks), self._token_end)
        return end

    def _publish(self, records: NDArray[Any]) -> None:
        """Let readers see new records; the array that a reader holds meanwhile stays as it is."""
        first, self._count = self._count, self._count + len(records)
        if self._count > len(self._records):
            roomier = blank_records(2 * self._count)
            roomier[:first] = self._records[:first]
            self._records = roomier
        self._records[first : self._count] = records
        self._rows.update(zip(records["key"].tolist(), range(first, self._count), strict=True))

    def _gathered(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        try:
            mapped = mmap.mmap(self._vectors, (int(rows.max()) + 1) * self._row_bytes, prot=mmap.PROT_READ)
        except ValueError as error:
            raise IndexDamaged("the file of pooled vectors was cut") from error
        return np.frombuffer(mapped, "<f4").reshape(-1, self.dimension)[rows]

    def _has(self, key: str, with_token_vectors: bool) -> bool:
        row = self._rows.get(bytes.fromhex(key))
        return row is not None and not (with_token_vectors and self._records["token_count"][row] == NO_TOKENS)

    def _rows_of(self, keys: Sequence[str]) -> NDArray[np.int64]:
        try:
            return np.fromiter((self._rows[bytes.fromhex(key)] for key in keys), np.int64, len(keys))
        except KeyError as error:
            raise IndexDamaged("the vector store lacks vectors that the index needs") from error

    def _require_whole(self, keys: Sequence[str], is_whole: NDArray[np.bool_]) -> None:
        """Raise IndexDamaged where vectors are not what was written; they are forgotten, so `missing` names them."""
        if not is_whole.all():
            changed = [key for key, whole in zip(keys, is_whole.tolist(), strict=True) if not whole]
            for key in changed:
                self._rows.pop(bytes.fromhex(key), None)
            raise IndexDamaged(f"vectors of {len(changed)} units are missing or were changed")


def _check_sidecar(directory: Path, expected: dict[str, Any]) -> None:
    """Compare the sidecar, or write it where there is none yet."""
    path = directory / _SIDECAR
    if not path.exists():
        if any((directory / name).exists() for name in _FILES):
            raise IndexDamaged("the vector store has lost its sidecar")
        temporary = directory / f"{_SIDECAR}.tmp"
        write_sidecar(temporary, expected)
        temporary.replace(path)
    found = read_sidecar(path)
    if found != expected:
        raise StoreMismatch(f"the vector store is of {found}, not of {expected}")


def _unzipped(pairs: Iterable[tuple[str, UnitEncoding]]) -> tuple[list[str], list[UnitEncoding]]:
    kept = list(pairs)
    return [key for key, _ in kept], [encoding for _, encoding in kept]


def _write(descriptor: int, content: bytes, offset: int) -> None:
    """Write all of it and sync; the system may take it in parts."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    os.fsync(descriptor)

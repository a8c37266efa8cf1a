"""Many byte strings in one file, held in memory or read one at a time."""

import os
import weakref
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from ranker_service.index.files import IndexDamaged, read_array, write_array, write_bytes


class Strings(Sequence[bytes]):
    """An immutable sequence of byte strings in memory."""

    def __init__(self, content: bytes, offsets: NDArray[np.uint64]) -> None:
        self._content = content
        self._offsets = offsets
        self._starts = memoryview(offsets.data)  # gives Python's own integers, several times faster than the array does

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Self:
        """Lay strings out one after another."""
        offsets = np.zeros(len(strings) + 1, np.uint64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        return cls(b"".join(strings), offsets)

    @classmethod
    def load(cls, directory: Path, name: str) -> Self:
        """Read files that `save` wrote and somebody has checked."""
        return cls(_content_path(directory, name).read_bytes(), read_array(_offsets_path(directory, name)))

    def save(self, directory: Path, name: str) -> list[Path]:
        """Write the strings' two files, synced, and return them."""
        write_bytes(_content_path(directory, name), self._content)
        write_array(_offsets_path(directory, name), self._offsets)
        return [_content_path(directory, name), _offsets_path(directory, name)]

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, position: int) -> bytes: ...
    @overload
    def __getitem__(self, position: slice) -> list[bytes]: ...
    def __getitem__(self, position: int | slice) -> bytes | list[bytes]:
        """Return one string, or a list of some; positions do not count from the end."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if position < 0:
            raise IndexError(position)
        return self._between(self._starts[position], self._starts[position + 1])

    def find(self, string: bytes) -> int | None:
        """Return where `string` stands in strings that are sorted; None where it does not."""
        position = bisect_left(self, string)
        return position if position < len(self) and self[position] == string else None

    def starting_with(self, prefix: bytes) -> tuple[int, int]:
        """Return the range of strings that start with `prefix`, in UTF-8 strings that are sorted."""
        return bisect_left(self, prefix), bisect_left(self, prefix + b"\xff")

    def _between(self, start: int, end: int) -> bytes:
        return self._content[start:end]


class StringFile(Strings):
    """Strings that stay on disk, in a file that is open for as long as they are in use.

    They are read and not mapped: a file that somebody cuts is then an error and not the end of the process.
    """

    def __init__(self, path: Path, offsets: NDArray[np.uint64]) -> None:
        super().__init__(b"", offsets)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._descriptor)

    @classmethod
    def load(cls, directory: Path, name: str) -> Self:
        """Open files that `Strings.save` wrote and somebody has checked."""
        return cls(_content_path(directory, name), read_array(_offsets_path(directory, name)))

    def _between(self, start: int, end: int) -> bytes:
        string = os.pread(self._descriptor, end - start, start)
        if len(string) != end - start:
            raise IndexDamaged("a file of the index was cut")
        return string


def _content_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.bin"


def _offsets_path(directory: Path, name: str) -> Path:
    return directory / f"{name}_offsets.npy"

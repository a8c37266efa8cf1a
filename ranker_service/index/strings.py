"""Many byte strings in one mapped file: any of them costs one slice, and opening costs nothing for each."""

import mmap
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from ranker_service.index.files import read_array, write_array, write_bytes


class Strings(Sequence[bytes]):
    """An immutable sequence of byte strings."""

    def __init__(self, content: bytes | mmap.mmap, offsets: NDArray[np.uint64]) -> None:
        self._content = content
        self._offsets = offsets

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Self:
        """Lay strings out one after another."""
        offsets = np.zeros(len(strings) + 1, np.uint64)
        np.cumsum([len(string) for string in strings], out=offsets[1:])
        return cls(b"".join(strings), offsets)

    @classmethod
    def load(cls, directory: Path, name: str) -> Self:
        """Map files that `save` wrote and somebody has checked."""
        offsets = read_array(_offsets_path(directory, name))
        with _content_path(directory, name).open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) if offsets[-1] else b""
        return cls(content, offsets)

    def save(self, directory: Path, name: str) -> list[Path]:
        """Write the strings' two files, synced, and return them."""
        write_bytes(_content_path(directory, name), self._content[:])
        write_array(_offsets_path(directory, name), self._offsets)
        return [_content_path(directory, name), _offsets_path(directory, name)]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, position: int) -> bytes: ...
    @overload
    def __getitem__(self, position: slice) -> list[bytes]: ...
    def __getitem__(self, position: int | slice) -> bytes | list[bytes]:
        """Return one string, or a list of some."""
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        return self._content[int(self._offsets[position]) : int(self._offsets[position + 1])]

    def find(self, string: bytes) -> int | None:
        """Return where `string` stands in strings that are sorted; None where it does not."""
        position = bisect_left(self, string)
        return position if position < len(self) and self[position] == string else None

    def starting_with(self, prefix: bytes) -> tuple[int, int]:
        """Return the range of strings that start with `prefix`, in UTF-8 strings that are sorted."""
        return bisect_left(self, prefix), bisect_left(self, prefix + b"\xff")


def _content_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.bin"


def _offsets_path(directory: Path, name: str) -> Path:
    return directory / f"{name}_offsets.npy"

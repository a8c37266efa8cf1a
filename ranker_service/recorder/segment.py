"""One file of the journal, and the file beside it that says which of its records history has."""

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

SUFFIX = ".journal"
_ACK_SUFFIX = ".acks"
_ACK = struct.Struct("<QI")
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Segment:
    """An append-only file of records. Not safe for threads: the journal's lock guards it.

    `size` is its length in bytes, `pending` the number of its records that history has not confirmed; `torn` says that
    a failed write may have left part of a record at its end.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self.path = directory / f"{number:010d}{SUFFIX}"
        self.size = 0
        self.synced_size = 0
        self.pending = 0
        self.torn = False
        self._acks_path = self.path.with_suffix(_ACK_SUFFIX)
        self._file = -1
        self._acks = -1

    @classmethod
    def create(cls, directory: Path, number: int) -> Self:
        """Make an empty one, owner-only; raise OSError."""
        segment = cls(directory, number)
        segment._file = os.open(segment.path, _FLAGS | os.O_EXCL, 0o600)
        return segment

    def append(self, pieces: Sequence[bytes], length: int) -> int:
        """Write a record of `length` bytes and return its offset.

        Raises OSError, and then the file is as it was, or `torn`.
        """
        offset = self.size
        self.torn = True
        try:
            written = os.writev(self._file, pieces)
            while written < length:
                written += os.write(self._file, b"".join(pieces)[written:])
        except OSError:
            os.ftruncate(self._file, offset)
            self.torn = False
            raise
        self.torn = False
        self.size += length
        self.pending += 1
        return offset

    def acknowledge(self, offset: int) -> None:
        """Note that history has the record at `offset`; raise OSError."""
        self.pending -= 1
        if self._acks < 0:
            self._acks = os.open(self._acks_path, _FLAGS, 0o600)
        entry = offset.to_bytes(8, "little")
        os.write(self._acks, entry + zlib.crc32(entry).to_bytes(4, "little"))

    def acknowledged(self) -> set[int]:
        """Return the offsets noted in an existing file, and cut off a torn note; raise OSError."""
        if not self._acks_path.exists():
            return set()
        content = self._acks_path.read_bytes()
        whole = len(content) - len(content) % _ACK.size
        if whole < len(content):
            os.truncate(self._acks_path, whole)
        return {
            offset
            for offset, checksum in _ACK.iter_unpack(content[:whole])
            if zlib.crc32(offset.to_bytes(8, "little")) == checksum
        }

    def close(self) -> None:
        """Close the files."""
        for descriptor in (self._file, self._acks):
            if descriptor >= 0:
                os.close(descriptor)
        self._file = self._acks = -1

    def remove(self) -> None:
        """Close and delete the files, the records first: notes without records are harmless."""
        self.close()
        self.path.unlink(missing_ok=True)
        self._acks_path.unlink(missing_ok=True)


def segment_numbers(directory: Path) -> list[int]:
    """Return the numbers of the segments in a directory, ascending; delete notes that have no segment."""
    numbers = {int(path.stem) for path in directory.glob(f"*{SUFFIX}") if path.stem.isdecimal()}
    for path in directory.glob(f"*{_ACK_SUFFIX}"):
        if path.stem.isdecimal() and int(path.stem) not in numbers:
            path.unlink()
    return sorted(numbers)

"""A folder as one tar, the same bytes for the same files."""

import tarfile
from collections.abc import Iterator, Mapping
from typing import BinaryIO

_PIECE_BYTES = 262_144


def tar_of(files: Mapping[str, BinaryIO]) -> Iterator[bytes]:
    """Yield a tar (POSIX.1-2001) of files that were written to their ends, by name, in the order given."""
    for name, file in files.items():
        header = tarfile.TarInfo(name)
        header.size = file.tell()
        yield header.tobuf(tarfile.PAX_FORMAT)
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            yield piece
        yield bytes(-header.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)

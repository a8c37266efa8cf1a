"""A lock that one process holds on a file, and that ends with the process."""

import fcntl
import os
from pathlib import Path
from typing import Self

from history_service.domain.errors import DirectoryInUse


class FileLock:
    """An advisory lock on `path`, which is never removed, so that all processes lock one inode."""

    def __init__(self, path: Path, what: str) -> None:
        """Take the lock; raise DirectoryInUse, which names `what` and the holder, when another holder has it."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise DirectoryInUse(
                f"{what} is in use by process {holder or 'unknown'}: stop that process first"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode("ascii"), 0)

    def release(self) -> None:
        """Let go of the lock; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.release()

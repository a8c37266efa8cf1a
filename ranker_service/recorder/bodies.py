"""Bodies that the spool keeps because the memory that held them may drop them."""

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from ranker_service.domain.digest import is_digest
from ranker_service.memory.durable import make_directory, sync_directories

_TEMPORARY = ".tmp"


class SpooledBodies:
    """Files by digest, owner-only: hard links where the file system allows, else copies.

    Not safe for threads, but `path` may be called beside any other method.
    """

    def __init__(self, directory: Path) -> None:
        make_directory(directory)
        self._directory = directory
        self._digests = {path.name for path in directory.iterdir() if is_digest(path.name)}
        for unfinished in directory.glob(f"*{_TEMPORARY}"):
            unfinished.unlink()

    def __len__(self) -> int:
        return len(self._digests)

    def path(self, digest: str) -> Path:
        """Return where a body lies, if it is here."""
        return self._directory / digest

    def keep(self, digests: Iterable[str], source: Callable[[str], Path]) -> None:
        """Take bodies over, durably; one that its source has not is passed over. Raises OSError."""
        taken = {digest for digest in digests if digest not in self._digests and self._take(digest, source(digest))}
        if taken:
            sync_directories([self._directory])
            self._digests |= taken

    def drop_all_but(self, digests: Collection[str]) -> None:
        """Delete every other body."""
        for digest in self._digests.difference(digests):
            self.path(digest).unlink(missing_ok=True)
        self._digests.intersection_update(digests)

    def owned_bytes(self) -> int:
        """Return the bytes on disk that only the spool still needs: a body that is linked elsewhere costs nothing."""
        sizes = 0
        for digest in tuple(self._digests):
            with contextlib.suppress(FileNotFoundError):
                status = self.path(digest).stat()
                sizes += status.st_size if status.st_nlink == 1 else 0
        return sizes

    def _take(self, digest: str, source: Path) -> bool:
        target = self.path(digest)
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            return True
        except FileNotFoundError:
            return False
        except OSError:
            return _copy(source, target)
        return True


def _copy(source: Path, target: Path) -> bool:
    """Copy where no link can be made, for example to another file system."""
    temporary = target.with_suffix(_TEMPORARY)
    try:
        with source.open("rb") as read, open(temporary, "wb", opener=_owner_only) as write:
            shutil.copyfileobj(read, write)
            write.flush()
            os.fsync(write.fileno())
    except FileNotFoundError:
        return False
    temporary.replace(target)
    return True


def _owner_only(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)

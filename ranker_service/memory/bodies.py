"""Bodies: content-addressed files, `<2 hex digits>/<64 hex digits>`, whose names are the digests of their bytes."""

import contextlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

from ranker_service.domain.digest import digest_of, is_digest
from ranker_service.domain.limits import check_digest
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.memory.durable import make_directory, read_file, sync_directories, write_new


class Bodies:
    """The bodies below a directory. A body there is trusted only if its size and digest agree."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        make_directory(directory)

    def path(self, digest: str) -> Path:
        """Return where the body of `digest` is or would be; raise FieldInvalid for anything but a digest."""
        check_digest(digest)
        return self._directory / digest[:2] / digest

    def read(self, digest: str) -> bytes:
        """Return a body; raise MemoryDamaged where it is missing or has other bytes."""
        try:
            content = read_file(self.path(digest))
        except OSError as error:
            raise MemoryDamaged(f"body {digest}", f"cannot be read ({error.strerror})") from error
        if digest_of(content) != digest:
            raise MemoryDamaged(f"body {digest}", "has other bytes")
        return content

    def stage(self, staged: Path, digest: str, body: bytes) -> bool:
        """Put `body` at `staged`: a link to the body that is stored already, where that is sound, else a new file.

        Return whether it is new. The link keeps the bytes whoever deletes the stored name.
        """
        with contextlib.suppress(OSError):
            os.link(self.path(digest), staged, follow_symlinks=False)
            if _holds(staged, body):
                return False
        staged.unlink(missing_ok=True)
        write_new(staged, body)
        return True

    def adopt(self, staged: Collection[Path]) -> None:
        """Rename synced files, named by their digests, to their places, and sync each directory once."""
        places = {file: self.path(file.name) for file in staged}
        directories = {place.parent for place in places.values()}
        for directory in directories:
            directory.mkdir(mode=0o700, exist_ok=True)
        for file, place in places.items():
            file.replace(place)
        sync_directories({*directories, self._directory})

    def delete_except(self, digests: Collection[str]) -> int:
        """Delete every body that is not among `digests`, and return how many bytes they had."""
        freed = 0
        for path in self._paths():
            if path.name not in digests:
                freed += path.lstat().st_size
                path.unlink()
        return freed

    def _paths(self) -> Iterator[Path]:
        for directory in sorted(self._directory.iterdir()):
            for path in sorted(directory.iterdir()):
                if is_digest(path.name):
                    yield path


def _holds(path: Path, body: bytes) -> bool:
    return path.lstat().st_size == len(body) and read_file(path) == body

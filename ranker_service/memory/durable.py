"""Files that only their owner reads and that survive the end of the process and of the machine once they are synced."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_DIRECTORY_MODE = 0o700
_FILE_MODE = 0o600
_SYNC_THREADS = 8


def make_directory(path: Path) -> None:
    """Create `path` and what is missing above it, each for its owner alone; an existing `path` becomes so too."""
    if not path.is_dir():
        if not path.parent.is_dir():
            make_directory(path.parent)
        path.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
        sync_directories([path.parent])
    path.chmod(_DIRECTORY_MODE)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that did not exist, owner-only; it is not synced yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - opened above, with its mode
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]


def read_file(path: Path) -> bytes:
    """Read a regular file; raise OSError for a symbolic link, which somebody else must have put there."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - opened above, without following a link
        return file.read()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside `path`, sync it, rename it over, sync the directory. One caller at a time for a path."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    write_new(fresh, content)
    sync_files([fresh])
    fresh.replace(path)
    sync_directories([path.parent])


def sync_files(paths: Iterable[Path]) -> None:
    """Sync files to disk, several at once: a disk takes many in the time of one."""
    _sync_all(list(paths), os.O_RDONLY | os.O_NOFOLLOW)


def sync_directories(paths: Iterable[Path]) -> None:
    """Sync the names in directories to disk, each directory once."""
    _sync_all(sorted(set(paths)), os.O_RDONLY | os.O_DIRECTORY)


def _sync_all(paths: list[Path], flags: int) -> None:
    if len(paths) == 1:
        _sync(paths[0], flags)
    elif paths:
        with ThreadPoolExecutor(min(_SYNC_THREADS, len(paths))) as pool:
            for _ in pool.map(lambda path: _sync(path, flags), paths):
                pass


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

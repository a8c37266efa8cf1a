"""Folders that are there wholly or not at all: filled beside their place, synced, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from ranktrail_cli.whole_file import sync_path

SYNCERS = 8
"""Files synced at once: a disk takes many in the time of one."""


@contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Give a new folder, owner-only, in the same place; it goes when the block ends, unless `put` took it."""
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put(folder: Path, target: Path) -> None:
    """Make a folder durable and rename it to its place, where nothing or an empty folder is; raise OSError."""
    sync_tree(folder)
    folder.replace(target)
    sync_path(target.parent)


def sync_tree(folder: Path) -> None:
    """Make every file and name below a folder durable."""
    paths = [folder, *(path for path in folder.rglob("*") if not path.is_symlink())]
    with ThreadPoolExecutor(SYNCERS) as pool:
        for _ in pool.map(sync_path, paths):
            pass


def new_file(folder: Path, path: str) -> int:
    """Open a file that does not exist below a folder, owner-only, and make the folders down to it; return it."""
    target = folder / path
    for parent in reversed([parent for parent in target.parents if parent.is_relative_to(folder)]):
        parent.mkdir(mode=0o700, exist_ok=True)
    return os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

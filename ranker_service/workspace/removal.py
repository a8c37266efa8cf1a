"""Directories on their way out: hidden by one rename, so that their place is free at once, and deleted after that."""

import shutil
from itertools import count
from pathlib import Path

TRASH_SUFFIX = ".removed"
_NUMBERS = count()


def move_away(directory: Path) -> Path:
    """Rename a directory to a name that only a deletion has, and return it; one that is not there stays so."""
    trash = directory.with_name(f"{directory.name}.{next(_NUMBERS)}{TRASH_SUFFIX}")
    if directory.is_symlink() or directory.is_file():
        directory.unlink()
    elif directory.exists():
        delete_tree(trash)
        directory.rename(trash)
    return trash


def delete_tree(directory: Path) -> int:
    """Delete a directory, if it is there; return the bytes that its files had."""
    freed = sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    shutil.rmtree(directory, ignore_errors=True)
    return freed

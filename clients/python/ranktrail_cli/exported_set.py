"""An exported evaluation set on its way to a file or a folder: there wholly, or not at all."""

import io
import os
import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.whole_file import sync_path, whole_file
from ranktrail_cli.whole_folder import folder_beside, new_file, sync_tree


def check_place(out: Path, *, is_folder: bool, force: bool) -> None:
    """Raise CommandFailed when nothing may be written at `out`: something is there, or it has no folder."""
    if not out.absolute().parent.is_dir():
        raise _refused(out, "is in no folder that exists: name a file or folder in one")
    if out.is_dir():
        if not is_folder:
            raise _refused(out, "is a folder, and this format is a file: name a file")
        if any(out.iterdir()) and not force:
            raise _refused(out, "is not empty: name another folder, or add --force to replace an export in it")
    elif out.exists():
        if is_folder:
            raise _refused(out, "is a file, and this format is a folder: name a folder")
        if not out.is_file():
            raise _refused(out, "is no plain file: name another file")
        if not force:
            raise _refused(out, "exists: name another file, or add --force to replace it")


def write_file(out: Path, pieces: Iterable[bytes]) -> int:
    """Write a document; return its size in bytes. Raises OSError."""
    size = 0
    with whole_file(out) as file:
        for piece in pieces:
            size += file.write(piece)
    return size


def write_folder(out: Path, pieces: Iterable[bytes]) -> int:
    """Unpack a tar into a folder, which takes the place of an empty one or of one with files of the same names alone.

    Returns the size of its files in bytes. Raises CommandFailed for a tar that is none or that holds anything but files
    below it, and for a folder that holds other files; OSError.
    """
    target = out.resolve()
    with folder_beside(target) as folder:
        try:
            size = _unpack(pieces, folder)
        except tarfile.TarError as error:
            raise CommandFailed(
                f"history sent no archive that can be unpacked ({error}): update it", Exit.INCOMPLETE
            ) from error
        sync_tree(folder)
        _put(folder, target)
    sync_path(target.parent)
    return size


def _unpack(pieces: Iterable[bytes], folder: Path) -> int:
    """Write each file of a tar below a new folder; return the size of all."""
    size = 0
    with tarfile.open(fileobj=io.BufferedReader(_Pieces(pieces)), mode="r|") as archive:
        for member in archive:
            body = archive.extractfile(member) if member.isreg() and _is_below(member.name) else None
            if body is None:
                raise tarfile.ReadError(f"{member.name!r} is no file below it")
            with os.fdopen(new_file(folder, member.name), "wb") as file:
                shutil.copyfileobj(body, file)
            size += member.size
    return size


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _put(folder: Path, target: Path) -> None:
    """Rename the folder to its place; what was there goes once it has."""
    if not target.exists() or not any(target.iterdir()):
        folder.replace(target)
        return
    others = _names(target) - _names(folder)
    if others:
        raise _refused(target, f"holds {min(others)!r}, which is no part of the export: name another folder")
    with folder_beside(target) as old:
        target.replace(old)
        try:
            folder.replace(target)
        except BaseException:
            old.replace(target)
            raise


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def _refused(out: Path, problem: str) -> CommandFailed:
    return CommandFailed(f"--out {str(out)!r} {problem}", Exit.REFUSED)


class _Pieces(io.RawIOBase):
    """Pieces as a file to read from."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what there is of a piece."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

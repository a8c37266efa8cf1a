"""A folder of files as resources: what is in it, what is skipped and why, and bytes that hold still."""

import errno
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ranktrail_cli.fields import reason_of
from ranktrail_client.frames import MAX_RESOURCE_BYTES

MAX_PATH_BYTES = 512
"""A path is also the resource's id, which has at most this many bytes."""
READ_ATTEMPTS = 5
_VCS_FOLDERS = frozenset({"CVS", "_darcs"})


@dataclass(frozen=True, slots=True)
class Skip:
    """A file or folder that was left out. `path` is for people: what is not UTF-8 in it is written as an escape."""

    path: str
    reason: str


@dataclass(slots=True)
class Listing:
    """The files below a folder, as posix paths relative to it, in order."""

    paths: list[str] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)


class Skipped(Exception):
    """A file cannot be taken; the text says why."""


def is_ignored(name: str) -> bool:
    """Say whether a name is hidden or a version control folder's."""
    return name.startswith(".") or name in _VCS_FOLDERS


def list_folder(root: Path) -> Listing:
    """Walk `root`; raise OSError when it cannot be read. A link that leaves it is a skip: others may write there."""
    listing = Listing()
    status = root.stat()
    with os.scandir(root):
        pass
    _walk(str(root), "", ((status.st_dev, status.st_ino),), os.path.realpath(root), listing)
    return listing


def _walk(
    directory: str, prefix: str, ancestors: tuple[tuple[int, int], ...], real_root: str, listing: Listing
) -> None:
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - names may hold surrogates
    except OSError as error:
        listing.skips.append(Skip(prefix.rstrip("/"), f"the folder cannot be read: {reason_of(error)}"))
        return
    for name in names:
        if is_ignored(name):
            continue
        location, path = os.path.join(directory, name), prefix + name  # noqa: PTH118 - as above
        try:
            identity = _folder_identity(location, ancestors, real_root)
            if identity is None:
                listing.paths.append(_checked(path))
            else:
                _walk(location, _checked(path) + "/", (*ancestors, identity), real_root, listing)
        except Skipped as skipped:
            listing.skips.append(Skip(shown(path), str(skipped)))


def _folder_identity(location: str, ancestors: tuple[tuple[int, int], ...], real_root: str) -> tuple[int, int] | None:
    """Return what identifies a folder, None for a file; raise Skipped for anything else."""
    is_link = os.path.islink(location)  # noqa: PTH114 - as above
    if is_link and not _is_inside(os.path.realpath(location), real_root):
        raise Skipped("the link leaves the folder")
    try:
        status = os.stat(location)  # noqa: PTH116 - as above
    except OSError as error:
        raise Skipped(_link_problem(error)) from error
    if stat.S_ISREG(status.st_mode):
        return None
    if not stat.S_ISDIR(status.st_mode):
        raise Skipped("it is neither a file nor a folder")
    identity = (status.st_dev, status.st_ino)
    if identity in ancestors:
        raise Skipped("it is a symlink loop")
    if is_link:
        raise Skipped("it links to a folder that is synced under its own name")
    return identity


def _link_problem(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return "it is a symlink loop"
    if error.errno == errno.ENOENT:
        return "it links to nothing"
    return f"it cannot be read: {reason_of(error)}"


def _is_inside(real_path: str, real_root: str) -> bool:
    return real_path == real_root or real_path.startswith(real_root.rstrip("/") + "/")


def _checked(path: str) -> str:
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise Skipped("its name is not UTF-8") from error
    if "\\" in path:
        raise Skipped("its name has a backslash")
    if size > MAX_PATH_BYTES:
        raise Skipped(f"its path has {size} bytes, at most {MAX_PATH_BYTES} are allowed")
    return path


def shown(path: str) -> str:
    """Return a path as text, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_still(location: Path) -> bytes:
    """Return a file's bytes as they were at one moment; raise Skipped when that cannot be had."""
    for _ in range(READ_ATTEMPTS):
        try:
            content = _read_once(location)
        except OSError as error:
            raise Skipped(f"it cannot be read: {reason_of(error)}") from error
        if content is not None:
            return content
    raise Skipped("it changes while it is read")


def _read_once(location: Path) -> bytes | None:
    """Return the bytes, or None when the file changed meanwhile."""
    # Without O_NONBLOCK, a pipe put in the file's place would be waited for.
    descriptor = os.open(location, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Skipped("it is neither a file nor a folder")
        content = file.read(MAX_RESOURCE_BYTES + 1)
        after = os.fstat(descriptor)
    if len(content) > MAX_RESOURCE_BYTES or after.st_size > MAX_RESOURCE_BYTES:
        raise Skipped(f"it has more than {MAX_RESOURCE_BYTES >> 20} MiB")
    return content if _version(before) == _version(after) and len(content) == after.st_size else None


def _version(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns

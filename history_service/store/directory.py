"""The data directory: owner-only at every level, on a disk that locks, and served by one process."""

import contextlib
import os
import re
import stat
from pathlib import Path

from history_service.domain.errors import DirectoryUnfit
from ranktrail_serving.file_lock import FileLock

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "smb2",
        "ncpfs",
        "afs",
        "ceph",
        "glusterfs",
        "lustre",
        "fuse.sshfs",
        "fuse.glusterfs",
    }
)
MOUNTS = Path("/proc/self/mounts")


def make_private_directory(path: Path) -> None:
    """Make a directory 0700 below one that exists; raise DirectoryUnfit when something else is there."""
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    if not stat.S_ISDIR(path.lstat().st_mode):
        raise DirectoryUnfit(f"{path} is not a directory: move it away")
    if stat.S_IMODE(path.lstat().st_mode) != 0o700:  # noqa: PLR2004 - a mode
        path.chmod(0o700)


def make_private_tree(top: Path, *names: str) -> Path:
    """Make the named directories below `top`, each inside the one before and each 0700; return the last.

    `top` is made 0700 when it is missing; the mode of one that exists is its owner's choice.
    """
    for missing in reversed([path for path in (top, *top.parents) if not path.exists()]):
        make_private_directory(missing)
        sync_directory(missing.parent)
    path = top
    for name in names:
        path = path / name
        make_private_directory(path)
        sync_directory(path.parent)
    return path


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock_directory(path: Path) -> FileLock:
    """Take the directory for this process; raise DirectoryInUse, or DirectoryUnfit on a network mount."""
    kind = file_system_of(path)
    if kind in NETWORK_FILE_SYSTEMS:
        raise DirectoryUnfit(f"data directory {path} is on {kind}, where SQLite's log is not safe: choose a local disk")
    return FileLock(path / "lock", f"data directory {path}")


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
    """Return the type of the file system that holds the path; empty where the system does not say."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    real = path.resolve()
    depth, found = -1, ""
    for line in lines:
        _device, escaped, kind, *_rest = line.split(" ")
        point = Path(re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), escaped))
        # Of two mounts on one point the later one is seen.
        if (real == point or point in real.parents) and len(point.parts) >= depth:
            depth, found = len(point.parts), kind
    return found

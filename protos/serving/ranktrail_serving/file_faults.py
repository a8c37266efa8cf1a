"""What is wrong with files: whether they are what their names say, and whether others may read them."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ranktrail_serving.storage import Problem

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KINDS = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a directory"), (stat.S_ISREG, "a file"))


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file; `kind` is a stable word, `detail` one sentence."""

    kind: str
    detail: str


def body_fault(path: Path, digest: str, size_bytes: int) -> Fault | None:
    """Return what is wrong with the bytes of a body; None when they are whole."""
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            return Fault("body_not_a_file", f"{_named(state)} stands in its place")
        if state.st_size != size_bytes:
            return Fault("body_size", f"it has {state.st_size} bytes and should have {size_bytes}")
        found = file_digest(path)
    except FileNotFoundError:
        return Fault("body_missing", "it is not there")
    except OSError as error:
        return Fault("body_unreadable", f"it cannot be read ({error.strerror})")
    return None if found == digest else Fault("body_digest", f"its bytes have the digest {found}")


def mode_fault(path: Path, wanted: int) -> Fault | None:
    """Return what is wrong with the mode of a file or directory; None where it is right, or nothing of the kind is."""
    try:
        state = path.lstat()
    except OSError:
        return None
    is_kind = stat.S_ISDIR if wanted == DIRECTORY_MODE else stat.S_ISREG
    found = stat.S_IMODE(state.st_mode)
    if not is_kind(state.st_mode) or found == wanted:
        return None
    return Fault("mode", f"its mode is {found:04o} and should be {wanted:04o}")


def mode_problem(path: Path, wanted: int, subject: str, *, repair: bool) -> Iterator[Problem]:
    """Yield what is wrong with a mode, and with `repair` put it right."""
    fault = mode_fault(path, wanted)
    if fault is not None:
        if repair:
            path.chmod(wanted)
        yield Problem(fault.kind, subject, fault.detail, repairable=True, repaired=repair)


def name_below(path: Path, data_dir: Path) -> str:
    """Return a path as it is named to people: below the data directory, and as text that can travel."""
    below = path.relative_to(data_dir).as_posix()
    return below.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a regular file as hex; raise OSError."""
    with open(os.open(path, _READ), "rb", buffering=0) as file:  # noqa: PTH123 - opened without following a link
        return hashlib.file_digest(file, "sha256").hexdigest()


def _named(state: os.stat_result) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(state.st_mode)), "something else")

"""Whose files a server may use: those that nobody else owns and nobody else can replace."""

import os
import stat
from pathlib import Path

from ranktrail_serving.errors import DirectoryForeign


def require_own(path: Path, what: str, *, or_root: bool = False) -> None:
    """Raise DirectoryForeign when somebody else owns `path`, or everybody may write to it.

    With `or_root` it may be the system's, and a folder that everybody may write to is taken when it is sticky: there
    nobody can replace what another one made. Raise OSError when it is not there.
    """
    state = path.stat()
    owners = {os.geteuid(), 0} if or_root else {os.geteuid()}
    if state.st_uid not in owners:
        raise DirectoryForeign(
            f"{what} {path} belongs to user {state.st_uid} and this is user {os.geteuid()}: choose a folder of your own"
        )
    is_open = bool(state.st_mode & stat.S_IWOTH)
    if is_open and not (or_root and state.st_mode & stat.S_ISVTX):
        raise DirectoryForeign(f"{what} {path} can be written by everybody: take that away with `chmod o-w`")


def require_private_file(descriptor: int, what: str) -> bool:
    """Make an open file its owner's alone, and return whether others could read it until now.

    Raise DirectoryForeign for what is not a regular file, or belongs to somebody else.
    """
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid():
        raise DirectoryForeign(f"{what} is not a file of user {os.geteuid()}: move it away")
    if not state.st_mode & 0o077:
        return False
    os.fchmod(descriptor, 0o600)
    return True

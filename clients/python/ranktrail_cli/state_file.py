"""The file in which a caller keeps its activation state between two activations."""

import os
from pathlib import Path

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import read_bounded, reason_of
from ranktrail_cli.whole_file import whole_file

MAX_STATE_BYTES = 65_536


def read_state(path: Path) -> bytes | None:
    """Return the state, or None where there is no file or nothing in it.

    Raises CommandFailed when it cannot be read, and when it could not be written afterwards either.
    """
    if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
        raise CommandFailed(f"--state {str(path)!r} cannot be written: name a file in a folder of yours", Exit.REFUSED)
    if not path.exists():
        return None
    return read_bounded(path, "--state", MAX_STATE_BYTES) or None


def write_state(path: Path, state: bytes) -> None:
    """Replace the file by one that holds `state`, wholly or not at all; only its owner can read it."""
    try:
        with whole_file(path) as file:
            file.write(state)
    except OSError as error:
        raise CommandFailed(
            f"--state {str(path)!r} was not written ({reason_of(error)}): the next activation starts from the old one",
            Exit.INCOMPLETE,
        ) from error

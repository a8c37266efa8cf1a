"""The token that opens the pages: the one that the services ask for, else one of the pages' own."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from ranktrail_client.data_directory import run_directory, token_file
from ranktrail_client.errors import Refused

VARIABLE = "RANKTRAIL_TOKEN"
OWN_FILE = "diagnostics.token"


def access_token(data_dir: Path, environment: Mapping[str, str]) -> str:
    """Return the token; one of the pages' own is made once and kept, so that a browser stays in over a restart.

    A port of loopback is open to every user of the machine, which the sockets of the services are not: so there always
    is one. Raises Refused when it can be neither read nor kept.
    """
    given = environment.get(VARIABLE)
    if given:
        return given
    own = run_directory(data_dir) / OWN_FILE
    try:
        return _read(token_file(data_dir)) or _read(own) or _made(own)
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"token file {str(own)!r} cannot be read or written: give the token with {VARIABLE}") from error


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def _made(file: Path) -> str:
    """Make the file, whole or not at all; another process may have been first."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(secrets.token_urlsafe(24) + "\n")
        try:
            os.link(draft, file)
        except FileExistsError:
            return _read(file)
    finally:
        draft.unlink(missing_ok=True)
    return _read(file)

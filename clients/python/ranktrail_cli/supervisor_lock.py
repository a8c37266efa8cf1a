"""The lock that a supervisor holds on its data directory for as long as it runs."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_client.data_directory import run_directory

LOCK = "supervisor.lock"
# `is_supervised` holds the lock for an instant, which must not turn a supervisor away.
ATTEMPTS = 5
STEP_SECONDS = 0.02


@contextmanager
def locked(data_dir: Path) -> Iterator[None]:
    """Hold a data directory for one supervisor; raise CommandFailed when another one has it."""
    directory = run_directory(data_dir)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandFailed(
            f"--data-dir {str(data_dir)!r} cannot be written ({error.strerror}): choose another folder", Exit.REFUSED
        ) from error
    try:
        _lock(descriptor, data_dir)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, data_dir: Path) -> None:
    if not any(_try(descriptor, attempt) for attempt in range(ATTEMPTS)):
        holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        raise CommandFailed(
            f"--data-dir {str(data_dir)!r} is served by another `ranktrail up` (process {holder or 'unknown'}): "
            "use that one, end it, or choose another folder",
            Exit.CONFLICT,
        )
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))


def _try(descriptor: int, attempt: int) -> bool:
    if attempt:
        time.sleep(STEP_SECONDS)
    return _is_free(descriptor, fcntl.LOCK_EX)


def is_supervised(data_dir: Path) -> bool:
    """Say whether a supervisor runs on a data directory, whether its services serve already or not."""
    with held_if_there(run_directory(data_dir) / LOCK, fcntl.LOCK_SH) as is_free:
        return not is_free


@contextmanager
def held_if_there(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[bool]:
    """Hold the lock on a file while the block runs; yield False when another process has it.

    A file that is not there is nobody's, and is not made.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield True
        return
    try:
        yield _is_free(descriptor, kind)
    finally:
        os.close(descriptor)


def _is_free(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

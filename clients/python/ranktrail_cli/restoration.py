"""A backup on its way to a data directory: checked in a folder beside it, and put there by one rename."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ranktrail.storage.v1 import storage_pb2
from ranktrail_cli.backup_manifest import DATA, PARTS, BackupManifest, KeptFile
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.inspection import inspected_folder
from ranktrail_cli.storage_check import checked
from ranktrail_cli.supervisor_lock import LOCK, held_if_there
from ranktrail_cli.synchronisation import Progress
from ranktrail_cli.whole_folder import folder_beside, new_file, put
from ranktrail_client.data_directory import run_directory

PHASE = "bytes"
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: where the old data lie now, if there were any, and what is wrong in the new ones."""

    moved_to: Path | None
    problems: list[storage_pb2.StorageProblem]


def restore_folder(backup: Path, manifest: BackupManifest, data_dir: Path, progress: Progress) -> Restored:
    """Put a backup's data in place of a data directory, whose old data are moved aside, where there are any.

    Before anything is touched, every file is copied and found to have its digest, and both services have opened the
    copy and checked it. Raises CommandFailed, or OSError; the data directory is then as it was.
    """
    data_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with folder_beside(data_dir) as folder:
        done = 0
        for file in manifest.files:
            _copy(backup, file, folder)
            done += file.size_bytes
            progress.step(PHASE, done, manifest.total_bytes)
        with inspected_folder(folder) as client:
            report = checked(client, progress, repair=False)
        with held(data_dir):
            moved_to = _move_aside(data_dir)
            try:
                put(folder, data_dir)
            except OSError:
                if moved_to is not None:
                    moved_to.replace(data_dir)
                raise
    return Restored(moved_to, report.problems)


@contextmanager
def held(data_dir: Path) -> Iterator[None]:
    """Keep services off a data directory that there is; raise CommandFailed when one is at work there."""
    locks = [run_directory(data_dir) / LOCK, *(data_dir / part / "lock" for part in PARTS)]
    with ExitStack() as holding:
        for lock in locks:
            if not holding.enter_context(held_if_there(lock)):
                raise CommandFailed(
                    f"--data-dir {str(data_dir)!r} is in use: end its services, or name another folder", Exit.CONFLICT
                )
        yield


def _copy(backup: Path, file: KeptFile, folder: Path) -> None:
    digest, size = hashlib.sha256(), 0
    source = backup / DATA / file.path
    try:
        reading = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _damaged(backup, file, f"cannot be read ({error.strerror})") from error
    with os.fdopen(reading, "rb") as read, os.fdopen(new_file(folder, file.path), "wb") as write:
        while piece := read.read(PIECE_BYTES):
            digest.update(piece)
            size += write.write(piece)
    if (size, digest.hexdigest()) != (file.size_bytes, file.digest):
        raise _damaged(backup, file, "is not what it was when the backup was made")


def _damaged(backup: Path, file: KeptFile, problem: str) -> CommandFailed:
    return CommandFailed(f"backup {str(backup)!r} is damaged: {file.path!r} {problem}; use another", Exit.REFUSED)


def _move_aside(data_dir: Path) -> Path | None:
    """Rename a data directory that holds anything; return its new place."""
    if not data_dir.is_dir() or not any(data_dir.iterdir()):
        return None
    aside = data_dir.with_name(f"{data_dir.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    data_dir.replace(aside)
    return aside

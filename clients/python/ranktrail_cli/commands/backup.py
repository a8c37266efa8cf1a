"""`ranktrail backup`: a copy of everything that is kept, while the services go on."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ranktrail.storage.v1 import storage_pb2
from ranktrail_cli.backup_manifest import BackupManifest
from ranktrail_cli.backup_writing import BackupWriter
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import reason_of
from ranktrail_cli.inspection import inspected
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.sizes import size_words
from ranktrail_cli.storage_check import print_problems
from ranktrail_cli.trace_view import counted
from ranktrail_cli.whole_folder import folder_beside, put
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError


@click.command(
    epilog=examples(
        "ranktrail backup /media/disk/ranktrail-monday",
        "ranktrail backup backups/monday --data-dir /tmp/ranktrail --json",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@with_session
def backup(session: Session, folder: Path) -> None:
    """Copy everything that cannot be computed anew into the new folder DIR.

    That is history whole, as it is at one instant, and the ranker's memories, profiles and dtype; indexes are built
    anew after a restore. Services that run go on with their work; for one that does not, a process runs meanwhile. DIR
    appears when all of it is written, checked and on disk. Runs that the ranker has not delivered yet are not in it.

    Exits with 0 when the backup is whole, and with 6 when something was damaged: DIR is then there with the rest.
    """
    target = folder.resolve()
    _check_place(target, session.data_dir.resolve())
    with inspected(session) as client:
        pending = _pending(client)
        try:
            manifest, problems = _write(client, target)
        except OSError as error:
            raise _refused(target, f"cannot be written ({reason_of(error)}): choose another place") from error
    if session.output.as_json:
        session.output.document(_json(target, manifest, pending))
    print_problems(session.output, problems)
    session.output.line(f"wrote {target}: {counted(len(manifest.files), 'file')}, {size_words(manifest.total_bytes)}")
    if pending:
        session.output.remark(f"{counted(pending, 'Run')} had not reached history yet and may not be in it")
    if problems:
        raise click.exceptions.Exit(Exit.INCOMPLETE)


def _write(client: Client, target: Path) -> tuple[BackupManifest, Iterable[storage_pb2.StorageProblem]]:
    create_time = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    with folder_beside(target) as folder, shown_progress("copying ") as progress:
        writer = BackupWriter(folder)
        # The memories first: a Run that comes in between is over a memory that is in the backup or a newer one.
        writer.take("ranker", (one.frame for one in client.ranker.backup_memory()), progress)
        writer.take("history", (one.frame for one in client.history.backup_store()), progress)
        manifest = writer.finish(create_time)
        put(folder, target)
    return manifest, writer.problems


def _pending(client: Client) -> int:
    """Return how many Runs the ranker has still to deliver, as far as it says so."""
    try:
        return client.ranker.get_runtime(timeout=2.0).recorder.pending_run_count
    except RanktrailError:
        return 0


def _check_place(target: Path, data_dir: Path) -> None:
    if target.is_relative_to(data_dir) or data_dir.is_relative_to(target):
        raise _refused(target, "and the data directory are one inside the other: choose another place")
    if not target.parent.is_dir():
        raise _refused(target, "is in no folder that exists: name a folder in one")
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise _refused(target, "is there already: name a new folder")


def _refused(target: Path, problem: str) -> CommandFailed:
    return CommandFailed(f"DIR {str(target)!r} {problem}", Exit.REFUSED)


def _json(target: Path, manifest: BackupManifest, pending: int) -> dict[str, Any]:
    return {
        "path": str(target),
        "create_time": manifest.create_time,
        "version": manifest.version,
        "file_count": len(manifest.files),
        "total_bytes": manifest.total_bytes,
        "pending_run_count": pending,
        "problems": list(manifest.problems),
    }

"""`ranktrail restore`: a backup becomes a data directory."""

from pathlib import Path
from typing import Any

import click

from ranktrail_cli.backup_manifest import BackupManifest
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import reason_of
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.restoration import Restored, held, restore_folder
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.sizes import size_words
from ranktrail_cli.storage_check import print_problems
from ranktrail_cli.trace_view import counted
from ranktrail_client.message_json import message_json


@click.command(
    epilog=examples(
        "ranktrail restore /media/disk/ranktrail-monday --data-dir /tmp/restored",
        "ranktrail restore /media/disk/ranktrail-monday --force",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Move a data directory that is not empty aside; nothing of it is deleted.")
@with_session
def restore(session: Session, folder: Path, force: bool) -> None:
    """Make a data directory of the backup in DIR.

    Every file is checked, and both services open and check the copy, before anything is put in place, which one rename
    does. The services must not run. `ranktrail up` then builds the indexes anew.

    Exits with 0, or with 6 when the backup was restored and there was damage in it.
    """
    data_dir = session.data_dir.resolve()
    manifest = BackupManifest.read(folder)
    _check_place(data_dir, force=force)
    try:
        with held(data_dir):
            pass
        with shown_progress("restoring ") as progress:
            restored = restore_folder(folder, manifest, data_dir, progress)
    except OSError as error:
        raise CommandFailed(
            f"--data-dir {str(data_dir)!r} cannot be written ({reason_of(error)}): choose another folder", Exit.REFUSED
        ) from error
    if session.output.as_json:
        session.output.document(_json(folder, data_dir, manifest, restored))
    print_problems(session.output, restored.problems)
    if restored.moved_to is not None:
        session.output.line(f"moved the old data to {restored.moved_to}")
    size = f"{counted(len(manifest.files), 'file')}, {size_words(manifest.total_bytes)}"
    session.output.line(f"restored {data_dir} as it was at {manifest.create_time}: {size}")
    if restored.problems or manifest.problems:
        raise click.exceptions.Exit(Exit.INCOMPLETE)


def _check_place(data_dir: Path, *, force: bool) -> None:
    if data_dir.exists() and not data_dir.is_dir():
        raise CommandFailed(f"--data-dir {str(data_dir)!r} is not a folder: name one", Exit.REFUSED)
    if data_dir.is_dir() and any(data_dir.iterdir()) and not force:
        raise CommandFailed(
            f"--data-dir {str(data_dir)!r} is not empty: name another folder, or add --force to move it aside",
            Exit.REFUSED,
        )


def _json(folder: Path, data_dir: Path, manifest: BackupManifest, restored: Restored) -> dict[str, Any]:
    return {
        "backup": str(folder),
        "data_dir": str(data_dir),
        "create_time": manifest.create_time,
        "file_count": len(manifest.files),
        "total_bytes": manifest.total_bytes,
        "moved_to": None if restored.moved_to is None else str(restored.moved_to),
        "problems": [message_json(problem) for problem in restored.problems],
    }

"""The database as it is at one instant, in a file that goes with its reader."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from history_service.store.database import Database

PREFIX = ".snapshot-"
_BODIES = "SELECT digest, size_bytes FROM retrieval_corpus_blobs ORDER BY digest"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A copy of the database: its bytes, what SQLite complains about in it, and the (digest, bytes) of its bodies."""

    file: BufferedReader
    complaints: list[str]
    bodies: list[tuple[str, int]]


@contextmanager
def snapshot_of(database: Database, directory: Path) -> Iterator[Snapshot]:
    """Lend a copy; writing goes on meanwhile.

    It is as large as the database and lies in `directory`, by then without a name, so that nothing is left behind.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
    try:
        path = folder / database.path.name
        with closing(sqlite3.connect(path)) as copy:
            with database.reading() as db:
                db.connection().backup(copy)
            # One file, without a log beside it; the service that opens it next turns the log on again.
            copy.execute("PRAGMA journal_mode = delete")
            complaints = [str(line) for (line,) in copy.execute("PRAGMA quick_check").fetchall()]
            bodies = copy.execute(_BODIES).fetchall()
        file = path.open("rb")
    finally:
        shutil.rmtree(folder)
    with file:
        yield Snapshot(file, [] if complaints == ["ok"] else complaints, bodies)


def leftover_snapshots(directory: Path) -> list[Path]:
    """Return what killed processes left; only while no snapshot is being taken."""
    return sorted(directory.glob(f"{PREFIX}*"))


def remove_leftover(path: Path) -> None:
    """Remove what `leftover_snapshots` returned, or a draft; nothing that a link leads to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        os.unlink(path)  # noqa: PTH108 - also what is no file

"""What a check reads of the database, and the errors that say that it cannot be read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import peewee

from history_service.domain.corpus import Resource
from history_service.store import corpora
from history_service.store.connection import Connection

DAMAGE = (peewee.DatabaseError, sqlite3.DatabaseError)
"""What a damaged database raises."""
MAX_LINES = 100
"""Of SQLite's own check."""
_INSTRUCTIONS_BETWEEN_LOOKS = 100_000
_BLOBS = "SELECT digest, size_bytes FROM retrieval_corpus_blobs WHERE digest > ? ORDER BY digest LIMIT ?"
_UNLISTED = """
    SELECT digest, min(size_bytes) FROM (
        SELECT digest, size_bytes FROM retrieval_run_resources
        UNION SELECT digest, size_bytes FROM evaluation_corpus_resources
    )
    WHERE digest NOT IN (SELECT digest FROM retrieval_corpus_blobs) GROUP BY digest ORDER BY digest
"""
_SIZES = """
    SELECT DISTINCT blob.digest, named.size_bytes, blob.size_bytes FROM (
        SELECT digest, size_bytes FROM retrieval_run_resources
        UNION SELECT digest, size_bytes FROM evaluation_corpus_resources
    ) AS named
    JOIN retrieval_corpus_blobs AS blob ON blob.digest = named.digest
    WHERE named.size_bytes <> blob.size_bytes ORDER BY blob.digest
"""
_RUNS = """
    SELECT sequence, run_id, project_id, state, trace_digest, candidate_count, candidates_digest, effective_memory_hash,
    (SELECT count(*) FROM retrieval_run_candidates WHERE run_sequence = sequence)
    FROM retrieval_runs WHERE sequence > ? ORDER BY sequence LIMIT ?
"""
_PROJECTS = "SELECT DISTINCT project_id FROM retrieval_runs WHERE effective_memory_hash = ? ORDER BY project_id"
_CORPORA = "SELECT corpus_hash, project_id, resource_count FROM evaluation_corpora ORDER BY corpus_hash"
_CHANGES = """
    SELECT CAST(value AS INTEGER), (SELECT coalesce(max(change_sequence), 0) FROM retrieval_runs)
    FROM daemon_meta WHERE key = 'retrieval_change_sequence'
"""


@dataclass(frozen=True, slots=True)
class InspectedRun:
    """What a Run says of itself, and how many rows its candidates have."""

    sequence: int
    run_id: str
    project_id: str
    state: str
    trace_digest: str | None
    candidate_count: int | None
    candidates_digest: str | None
    effective_memory_hash: str | None
    row_count: int


@dataclass(frozen=True, slots=True)
class BrokenReference:
    """Rows of a table that name rows of another one which are not there."""

    table: str
    parent: str
    row_count: int


@contextmanager
def interruptible(db: Connection, is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Have long statements raise one of DAMAGE once `is_stopped`."""
    connection = db.connection()
    connection.set_progress_handler(is_stopped, _INSTRUCTIONS_BETWEEN_LOOKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


def integrity_lines(db: Connection) -> list[str]:
    """Return what SQLite's own check complains about, at most MAX_LINES."""
    lines = [str(line) for (line,) in db.execute_sql(f"PRAGMA integrity_check({MAX_LINES})").fetchall()]
    return [] if lines == ["ok"] else lines


def broken_references(db: Connection) -> list[BrokenReference]:
    """Return which references lead nowhere, but for those to bodies, which `unlisted_bodies` names."""
    counts: dict[tuple[str, str], int] = {}
    for table, _rowid, parent, _key in db.execute_sql("PRAGMA foreign_key_check").fetchall():
        if parent != "retrieval_corpus_blobs":
            counts[table, parent] = counts.get((table, parent), 0) + 1
    return [BrokenReference(table, parent, count) for (table, parent), count in sorted(counts.items())]


def unlisted_bodies(db: Connection) -> list[tuple[str, int]]:
    """Return (digest, bytes) of the bodies that manifests or corpora name and that have no row."""
    return db.execute_sql(_UNLISTED).fetchall()


def differing_sizes(db: Connection) -> list[tuple[str, int, int]]:
    """Return (digest, bytes that a manifest says, bytes that the body's row says) where the two differ."""
    return db.execute_sql(_SIZES).fetchall()


def change_sequences(db: Connection) -> tuple[int, int]:
    """Return (the change_sequence given out last, the largest that a Run has)."""
    row: tuple[int, int] | None = db.execute_sql(_CHANGES).fetchone()
    return row or (-1, 0)


def blobs_after(db: Connection, digest: str, limit: int) -> list[tuple[str, int]]:
    """Return (digest, bytes) of at most `limit` bodies that have a row, in digest order, after a digest."""
    return db.execute_sql(_BLOBS, (digest, limit)).fetchall()


def size_of_blob(db: Connection, digest: str) -> int | None:
    """Return the bytes that a body's row says; None when it has none."""
    row = db.execute_sql("SELECT size_bytes FROM retrieval_corpus_blobs WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def runs_after(db: Connection, sequence: int, limit: int) -> list[InspectedRun]:
    """Return at most `limit` Runs, in the order of arrival, after a sequence."""
    return [InspectedRun(*row) for row in db.execute_sql(_RUNS, (sequence, limit)).fetchall()]


def projects_of_memory(db: Connection, effective_memory_hash: str) -> list[str]:
    """Return the projects whose Runs have this Effective Memory."""
    return [project for (project,) in db.execute_sql(_PROJECTS, (effective_memory_hash,))]


def corpus_rows(db: Connection) -> list[tuple[str, str, int]]:
    """Return (corpus hash, project, declared number of resources) of every frozen corpus."""
    return db.execute_sql(_CORPORA).fetchall()


def resources_of_memory(db: Connection, effective_memory_hash: str, page: int = 500) -> Iterator[Resource]:
    """Yield all resources of a stored manifest in resource_id order, read page by page."""
    after: str | None = None
    while resources := corpora.page_of_resources(db, effective_memory_hash, after, page):
        yield from resources
        after = resources[-1].resource_id


def count(db: Connection, table: str) -> int:
    """Return how many rows one of the store's tables has."""
    row: tuple[Any] = db.execute_sql(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - a name written here
    return int(row[0])

"""Runs that may go: terminal, and pinned by no case. What deletes runs inside one write transaction."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from history_service.store.connection import Connection

_UNPINNED = (
    "state <> 'running' AND NOT EXISTS "
    "(SELECT 1 FROM evaluation_cases WHERE evaluation_cases.run_sequence = retrieval_runs.sequence)"
)
_OF_PROJECT = f"SELECT sequence FROM retrieval_runs WHERE {_UNPINNED} AND project_id = ?"  # noqa: S608
_OF_ALL = f"SELECT sequence FROM retrieval_runs WHERE {_UNPINNED}"  # noqa: S608
_BEYOND = f"{_OF_PROJECT} ORDER BY create_time_us DESC, sequence DESC LIMIT ? OFFSET ?"
_DELETE = (
    "DELETE FROM retrieval_runs WHERE sequence IN (SELECT value FROM json_each(?)) "  # noqa: S608
    f"AND {_UNPINNED} RETURNING effective_memory_hash"
)
_CHANGED_PROJECTS = (
    "SELECT DISTINCT project_id FROM retrieval_runs WHERE change_sequence > ? AND state <> 'running' "
    "ORDER BY project_id"
)
# The manifests that no other Run has, and the bodies that are neither in another manifest nor in a frozen corpus.
_BODIES = """
    WITH going AS ({runs}),
    hashes AS (
        SELECT DISTINCT effective_memory_hash AS hash FROM retrieval_runs
        WHERE sequence IN (SELECT sequence FROM going) AND effective_memory_hash IS NOT NULL
        AND effective_memory_hash NOT IN (SELECT value FROM json_each(?))
    ),
    manifests AS (
        SELECT hash FROM hashes WHERE NOT EXISTS (
            SELECT 1 FROM retrieval_runs
            WHERE effective_memory_hash = hash AND sequence NOT IN (SELECT sequence FROM going)
        )
    ),
    bodies AS (
        SELECT DISTINCT digest FROM retrieval_run_resources
        WHERE effective_memory_hash IN (SELECT hash FROM manifests)
    )
    SELECT (SELECT count(*) FROM going), count(*), coalesce(sum(size_bytes), 0)
    FROM bodies JOIN retrieval_corpus_blobs USING (digest)
    WHERE NOT EXISTS (
        SELECT 1 FROM retrieval_run_resources AS other
        WHERE other.digest = bodies.digest AND other.effective_memory_hash NOT IN (SELECT hash FROM manifests)
    )
    AND NOT EXISTS (SELECT 1 FROM evaluation_corpus_resources AS frozen WHERE frozen.digest = bodies.digest)
"""


@dataclass(frozen=True, slots=True)
class Removal:
    """Runs that went, or would go, and the bodies that only they used."""

    run_count: int
    blob_count: int
    blob_bytes: int


def beyond_newest(db: Connection, project_id: str, kept: int, limit: int) -> list[int]:
    """Return at most `limit` Runs of a project that are not among its `kept` newest, by create time, then arrival."""
    return [sequence for (sequence,) in db.execute_sql(_BEYOND, (project_id, limit, kept))]


def removable(db: Connection, project_id: str | None) -> list[int]:
    """Return every Run that may go, of one project or of all, oldest arrival first."""
    cursor = db.execute_sql(_OF_ALL) if project_id is None else db.execute_sql(_OF_PROJECT, (project_id,))
    return sorted(sequence for (sequence,) in cursor)


def delete_runs(db: Connection, sequences: Sequence[int]) -> list[str | None]:
    """Delete those of the Runs that may still go, with their candidates; return the Effective Memory hash of each."""
    return [hash_ for (hash_,) in db.execute_sql(_DELETE, (json.dumps(sequences),)).fetchall()]


def preview(db: Connection, project_id: str | None, kept_manifests: Collection[str]) -> Removal:
    """Count what would go with every Run that may, and the manifests that are then unused but for `kept_manifests`."""
    runs, parameters = (_OF_ALL, ()) if project_id is None else (_OF_PROJECT, (project_id,))
    statement = _BODIES.format(runs=runs)
    row = db.execute_sql(statement, (*parameters, _json(kept_manifests))).fetchone()
    return Removal(*row)


def changed_projects(db: Connection, after: int) -> list[str]:
    """Return the projects of the terminal Runs whose change_sequence is larger than `after`."""
    return [project for (project,) in db.execute_sql(_CHANGED_PROJECTS, (after,))]


def _json(texts: Iterable[str]) -> str:
    return json.dumps(sorted(texts))

"""The Effective Memory of Runs: their manifests, once per hash, and the rows of their blobs."""

from collections.abc import Iterable, Sequence
from typing import Any

from peewee import fn

from history_service.domain.corpus import Manifest, Resource, manifest_hash
from history_service.store.connection import Connection
from history_service.store.resource_text import ids_holding
from history_service.store.tables import BLOBS, RESOURCE_COLUMNS, RUN_RESOURCES

_ROWS_PER_QUERY = 500
"""Values of one IN list; below every limit on variables that SQLite is built with."""
_INSERT_BLOB = (
    "INSERT INTO retrieval_corpus_blobs (digest, size_bytes, create_time_us) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
)
_BY_ID = (
    f"SELECT {', '.join(RESOURCE_COLUMNS)} FROM retrieval_run_resources "  # noqa: S608
    "WHERE effective_memory_hash = ? AND resource_id IN ({})"
)
_IS_STORED = "SELECT 1 FROM retrieval_run_resources WHERE effective_memory_hash = ? LIMIT 1"
_INSERT_RESOURCE = (
    f"INSERT INTO retrieval_run_resources (effective_memory_hash, position, {', '.join(RESOURCE_COLUMNS)}) "  # noqa: S608
    f"VALUES ({', '.join('?' * (2 + len(RESOURCE_COLUMNS)))})"
)


def is_stored(db: Connection, effective_memory_hash: str, project_id: str) -> bool:
    """Say whether the manifest of this hash is stored; that of an empty memory needs no rows."""
    found = db.execute_sql(_IS_STORED, (effective_memory_hash,)).fetchone()
    return found is not None or effective_memory_hash == manifest_hash(project_id, ())


def insert_manifest(db: Connection, manifest: Manifest, now_us: int) -> None:
    """Insert a manifest and the rows of its blobs, which must be whole on disk; a stored manifest stays as it is."""
    insert_blobs(db, ((r.digest, r.size_bytes) for r in manifest.resources), now_us)
    if not is_stored(db, manifest.effective_memory_hash, manifest.project_id):
        insert_resources(db, manifest.effective_memory_hash, manifest.resources)


def insert_blobs(db: Connection, sizes: Iterable[tuple[str, int]], now_us: int) -> None:
    """Insert the rows of bodies that are whole on disk, each (digest, bytes); a known one stays as it is."""
    db.connection().executemany(_INSERT_BLOB, ((digest, size_bytes, now_us) for digest, size_bytes in sizes))


def insert_resources(db: Connection, effective_memory_hash: str, resources: Iterable[Resource]) -> None:
    """Insert all rows of a manifest, in resource_id order; those of its blobs must be there."""
    rows = (
        (effective_memory_hash, position, *(getattr(resource, name) for name in RESOURCE_COLUMNS))
        for position, resource in enumerate(resources)
    )
    db.connection().executemany(_INSERT_RESOURCE, rows)


def page_of_resources(db: Connection, effective_memory_hash: str, after: str | None, limit: int) -> list[Resource]:
    """Return at most `limit` resources in resource_id order that follow the resource id `after`."""
    query = _select().where(_of(effective_memory_hash)).order_by(RUN_RESOURCES.resource_id).limit(limit)
    return _resources(db, query if after is None else query.where(RUN_RESOURCES.resource_id > after))


def resources_by_id(db: Connection, effective_memory_hash: str, resource_ids: Sequence[str]) -> list[Resource]:
    """Return those of the resources that the manifest has, in resource_id order."""
    found: list[Resource] = []
    for start in range(0, len(resource_ids), _ROWS_PER_QUERY):
        some = resource_ids[start : start + _ROWS_PER_QUERY]
        statement = _BY_ID.format(", ".join("?" * len(some)))
        found += [Resource(*row) for row in db.execute_sql(statement, (effective_memory_hash, *some)).fetchall()]
    return sorted(found, key=lambda resource: resource.resource_id)


def ids_with_text(db: Connection, effective_memory_hash: str, text: str) -> list[str]:
    """Return the ids of the resources whose id, path or title holds the text, without regard to case, in order."""
    query = RUN_RESOURCES.select(RUN_RESOURCES.resource_id, RUN_RESOURCES.path, RUN_RESOURCES.title)
    rows = query.where(_of(effective_memory_hash)).order_by(RUN_RESOURCES.resource_id).tuples().execute(db)
    return ids_holding(text, rows)


def count_resources(db: Connection, effective_memory_hash: str) -> int:
    """Return how many resources the manifest has, from the position of its last one."""
    query = RUN_RESOURCES.select(RUN_RESOURCES.position).where(_of(effective_memory_hash))
    last = list(query.order_by(RUN_RESOURCES.resource_id.desc()).limit(1).tuples().execute(db))
    return int(last[0][0]) + 1 if last else 0


def blob_totals(db: Connection) -> tuple[int, int]:
    """Return (number, bytes) of the stored blobs."""
    query = BLOBS.select(fn.COUNT(BLOBS.digest), fn.COALESCE(fn.SUM(BLOBS.size_bytes), 0))
    ((count, size),) = query.tuples().execute(db)
    return int(count), int(size)


def _of(effective_memory_hash: str) -> Any:
    return RUN_RESOURCES.effective_memory_hash == effective_memory_hash


def _select() -> Any:
    return RUN_RESOURCES.select(*(getattr(RUN_RESOURCES, name) for name in RESOURCE_COLUMNS))


def _resources(db: Connection, query: Any) -> list[Resource]:
    return [Resource(*row) for row in query.tuples().execute(db)]

"""The corpora that cases froze, once per hash; they are no Run's, so they stay when every Run of them goes."""

from collections.abc import Sequence
from typing import Any

from history_service.domain.corpus import Resource
from history_service.store.connection import Connection
from history_service.store.resource_text import ids_holding
from history_service.store.tables import CASES, CORPORA, CORPUS_RESOURCES, RESOURCE_COLUMNS

_IDS_PER_QUERY = 500
"""Values of one IN list; below every limit on variables that SQLite is built with."""
_FREEZE = (
    f"INSERT INTO evaluation_corpus_resources (corpus_hash, position, {', '.join(RESOURCE_COLUMNS)}) "  # noqa: S608
    f"SELECT effective_memory_hash, position, {', '.join(RESOURCE_COLUMNS)} FROM retrieval_run_resources "
    "WHERE effective_memory_hash = ?"
)


def freeze(db: Connection, effective_memory_hash: str, project_id: str, now_us: int) -> int:
    """Copy a stored manifest, if it is not frozen yet; return how many resources it has."""
    found = list(CORPORA.select(CORPORA.resource_count).where(_is(effective_memory_hash)).tuples().execute(db))
    if found:
        return int(found[0][0])
    values = {"corpus_hash": effective_memory_hash, "project_id": project_id, "create_time_us": now_us}
    CORPORA.insert({**values, "resource_count": 0}).execute(db)
    count = db.execute_sql(_FREEZE, (effective_memory_hash,)).rowcount
    CORPORA.update({CORPORA.resource_count: count}).where(_is(effective_memory_hash)).execute(db)
    return count


def release(db: Connection, corpus_hash: str) -> None:
    """Delete a corpus that no case has."""
    used = CASES.select(CASES.sequence).where(CASES.corpus_hash == corpus_hash).limit(1)
    if not list(used.tuples().execute(db)):
        CORPORA.delete().where(_is(corpus_hash)).execute(db)


def page_of_resources(db: Connection, corpus_hash: str, after: str | None, limit: int) -> list[Resource]:
    """Return at most `limit` resources in resource_id order that follow the resource id `after`."""
    query = _select(corpus_hash).order_by(CORPUS_RESOURCES.resource_id).limit(limit)
    return _resources(db, query if after is None else query.where(CORPUS_RESOURCES.resource_id > after))


def resources_by_id(db: Connection, corpus_hash: str, resource_ids: Sequence[str]) -> list[Resource]:
    """Return those of the resources that the corpus has, in resource_id order."""
    found: list[Resource] = []
    for start in range(0, len(resource_ids), _IDS_PER_QUERY):
        some = CORPUS_RESOURCES.resource_id.in_(resource_ids[start : start + _IDS_PER_QUERY])
        found += _resources(db, _select(corpus_hash).where(some))
    return sorted(found, key=lambda resource: resource.resource_id)


def ids_with_text(db: Connection, corpus_hash: str, text: str) -> list[str]:
    """Return the ids of the resources whose id, path or title holds the text, without regard to case, in order."""
    columns = (CORPUS_RESOURCES.resource_id, CORPUS_RESOURCES.path, CORPUS_RESOURCES.title)
    query = CORPUS_RESOURCES.select(*columns).where(CORPUS_RESOURCES.corpus_hash == corpus_hash)
    return ids_holding(text, query.order_by(CORPUS_RESOURCES.resource_id).tuples().execute(db))


def _is(corpus_hash: str) -> Any:
    return CORPORA.corpus_hash == corpus_hash


def _select(corpus_hash: str) -> Any:
    columns = [getattr(CORPUS_RESOURCES, name) for name in RESOURCE_COLUMNS]
    return CORPUS_RESOURCES.select(*columns).where(CORPUS_RESOURCES.corpus_hash == corpus_hash)


def _resources(db: Connection, query: Any) -> list[Resource]:
    return [Resource(*row) for row in query.tuples().execute(db)]

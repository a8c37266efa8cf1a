"""Manifests that no Run uses, and bodies that neither a manifest nor a frozen corpus holds."""

import json
from collections.abc import Collection, Sequence

from history_service.store.connection import Connection

# Jumps from one hash to the next, since a manifest has as many rows as resources.
_HASHES = """
    WITH RECURSIVE hashes (hash) AS (
        SELECT min(effective_memory_hash) FROM retrieval_run_resources
        UNION ALL
        SELECT (SELECT min(effective_memory_hash) FROM retrieval_run_resources WHERE effective_memory_hash > hash)
        FROM hashes WHERE hash IS NOT NULL
    )
    SELECT hash FROM hashes WHERE hash IS NOT NULL
"""
_IS_USED = "SELECT 1 FROM retrieval_runs WHERE effective_memory_hash = ? LIMIT 1"
_DIGESTS = "SELECT DISTINCT digest FROM retrieval_run_resources WHERE effective_memory_hash = ?"
_DELETE_MANIFEST = "DELETE FROM retrieval_run_resources WHERE effective_memory_hash = ?"
_UNREFERENCED = """
    NOT EXISTS (SELECT 1 FROM retrieval_run_resources AS run WHERE run.digest = retrieval_corpus_blobs.digest)
    AND NOT EXISTS (SELECT 1 FROM evaluation_corpus_resources AS kept WHERE kept.digest = retrieval_corpus_blobs.digest)
"""
_SELECT_BLOBS = f"SELECT digest FROM retrieval_corpus_blobs WHERE {_UNREFERENCED}"  # noqa: S608
_DELETE_BLOBS = (
    "DELETE FROM retrieval_corpus_blobs WHERE digest IN (SELECT value FROM json_each(?)) "  # noqa: S608
    f"AND {_UNREFERENCED} RETURNING digest, size_bytes"
)
_STORED = "SELECT digest FROM retrieval_corpus_blobs WHERE digest IN (SELECT value FROM json_each(?))"


def manifest_hashes(db: Connection) -> list[str]:
    """Return the hash of every stored manifest."""
    return [hash_ for (hash_,) in db.execute_sql(_HASHES)]


def is_used(db: Connection, effective_memory_hash: str) -> bool:
    """Say whether a Run has this Effective Memory."""
    return db.execute_sql(_IS_USED, (effective_memory_hash,)).fetchone() is not None


def delete_manifest(db: Connection, effective_memory_hash: str) -> list[str]:
    """Delete a manifest whole and return the digests that it held; nothing when a Run uses it."""
    if is_used(db, effective_memory_hash):
        return []
    digests = [digest for (digest,) in db.execute_sql(_DIGESTS, (effective_memory_hash,)).fetchall()]
    db.execute_sql(_DELETE_MANIFEST, (effective_memory_hash,))
    return digests


def unreferenced_blobs(db: Connection) -> list[str]:
    """Return the digests of the bodies that nothing holds."""
    return [digest for (digest,) in db.execute_sql(_SELECT_BLOBS)]


def delete_blobs(db: Connection, digests: Sequence[str]) -> list[tuple[str, int]]:
    """Delete the rows of those of the bodies that nothing holds; return (digest, bytes) of each."""
    return list(db.execute_sql(_DELETE_BLOBS, (json.dumps(digests),)).fetchall())


def stored_among(db: Connection, digests: Collection[str]) -> set[str]:
    """Return those of the digests that have a row."""
    return {digest for (digest,) in db.execute_sql(_STORED, (json.dumps(sorted(digests)),))}

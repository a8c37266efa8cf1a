"""Brings a database to this release's schema, or refuses it with a sentence that says what to do.

The version is the row `schema_version` of the table `daemon_meta (key, value)`. A migration's statements run one by one
inside one BEGIN IMMEDIATE, which also holds the new version: a process that ends anywhere leaves the old schema or the
new one.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from history_service.domain.errors import SchemaRefused
from history_service.store.migrations import v18

SCHEMA_VERSION = 18
FIRST_VERSION = 17
"""The daemon's last version before these tables; a new database starts from it, with nothing else in it."""
MIGRATIONS: Mapping[int, Sequence[str]] = {18: v18.STATEMENTS}
"""The statements that lead to a version from the one before it."""
TABLES = frozenset(
    {
        "retrieval_runs",
        "retrieval_run_candidates",
        "retrieval_run_resources",
        "retrieval_corpus_blobs",
        "evaluation_corpora",
        "evaluation_corpus_resources",
        "evaluation_cases",
        "evaluation_judgments",
    }
)
TABLES_OF: Mapping[int, frozenset[str]] = {FIRST_VERSION: frozenset(), 18: TABLES}
"""The tables that are ours at each version that can be opened."""
_CREATE_META = "CREATE TABLE daemon_meta (key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL)"
_FIRST_STAMP = f"INSERT INTO daemon_meta (key, value) VALUES ('schema_version', '{FIRST_VERSION}')"  # noqa: S608

Step = Callable[[str], None]


def migrate(path: Path, before: Step = lambda _statement: None) -> None:
    """Bring the file to SCHEMA_VERSION; raise SchemaRefused, with the file unchanged, when that cannot be done.

    `before` is called before each statement. The file's directory must be locked by this process.
    """
    try:
        connection = sqlite3.connect(path, isolation_level=None)
        try:
            _migrate(connection, path, before)
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise SchemaRefused(
            f"{path} is not a usable database ({error}): restore it from a backup, or move it away"
        ) from error


def _migrate(connection: sqlite3.Connection, path: Path, before: Step) -> None:
    version = _checked_version(connection, path)
    if version == SCHEMA_VERSION:
        return
    stamp = f"UPDATE daemon_meta SET value = '{SCHEMA_VERSION}' WHERE key = 'schema_version'"  # noqa: S608
    for statement in ("BEGIN IMMEDIATE", *_statements_from(version), stamp, "COMMIT"):
        before(statement)
        connection.execute(statement)


def _statements_from(version: int | None) -> list[str]:
    first = FIRST_VERSION if version is None else version
    steps = [statement for target in range(first + 1, SCHEMA_VERSION + 1) for statement in MIGRATIONS[target]]
    return [_CREATE_META, _FIRST_STAMP, *steps] if version is None else steps


def _checked_version(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the version of a database that can be used, None for an empty one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}
    if not tables:
        return None
    if "daemon_meta" not in tables:
        raise SchemaRefused(
            f"{path} holds tables but no daemon_meta, so it is no history: move it away and start again"
        )
    version = _stored_version(connection, path)
    if version > SCHEMA_VERSION:
        raise SchemaRefused(
            f"{path} has schema version {version}, newer than {SCHEMA_VERSION}: update Ranktrail to open it"
        )
    if version < FIRST_VERSION:
        raise SchemaRefused(
            f"{path} has schema version {version}, older than {FIRST_VERSION}: "
            f"open it once with the daemon release that brings it to {FIRST_VERSION}, or move it away"
        )
    wanted = TABLES_OF[version]
    present = tables & frozenset().union(*TABLES_OF.values())
    if present != wanted:
        odd = ", ".join(sorted(present ^ wanted))
        raise SchemaRefused(
            f"{path} says schema version {version}, which does not fit its tables ({odd}): restore a backup"
        )
    return version


def _stored_version(connection: sqlite3.Connection, path: Path) -> int:
    row = connection.execute("SELECT value FROM daemon_meta WHERE key = 'schema_version'").fetchone()
    text = "" if row is None else str(row[0])
    if not (text.isascii() and text.isdigit()) or len(text) > 9:  # noqa: PLR2004 - a version, not any number
        raise SchemaRefused(
            f"{path} has no readable schema_version in daemon_meta ({text!r}): restore it from a backup"
        )
    return int(text)

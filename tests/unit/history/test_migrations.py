"""Migrations: wholly or not at all, and a sentence for what cannot be opened."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from history_service.domain.case import Judgment
from history_service.domain.errors import SchemaRefused
from history_service.store import migrations
from history_service.store.migrations import SCHEMA_VERSION, TABLES, migrate
from tests.unit.history.kept import Store, a_memory

ROOT = Path(__file__).parents[3]
FOREIGN = """
CREATE TABLE daemon_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO daemon_meta VALUES ('schema_version', '{version}'), ('device', 'mac-1');
CREATE TABLE projects (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO projects VALUES (1, 'one'), (2, 'zwei');
CREATE INDEX projects_name ON projects (name);
"""
KILLED = """
import os, signal, sys
from pathlib import Path
from history_service.store.migrations import migrate
count = 0
def before(_statement):
    global count
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1
migrate(Path(sys.argv[1]), before)
"""


def _daemon_database(path: Path, version: str = "17") -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(FOREIGN.format(version=version))
    connection.close()
    return path


def _schema(path: Path) -> dict[str, str | None]:
    connection = sqlite3.connect(path)
    schema = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall())
    connection.close()
    return schema


def _rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def _version(path: Path) -> str:
    return str(_rows(path, "SELECT value FROM daemon_meta WHERE key = 'schema_version'")[0][0])


def test_a_new_file_gets_the_eight_tables_and_the_version(tmp_path: Path) -> None:
    migrate(tmp_path / "local.db")
    assert set(_schema(tmp_path / "local.db")) >= TABLES | {"daemon_meta"}
    assert _version(tmp_path / "local.db") == str(SCHEMA_VERSION) == "18"


def test_a_daemon_database_keeps_everything_that_is_not_ours(tmp_path: Path) -> None:
    path = _daemon_database(tmp_path / "local.db")
    before = _schema(path)
    migrate(path)
    after = _schema(path)
    assert {name: after[name] for name in before} == before
    assert set(after) >= TABLES
    assert _rows(path, "SELECT * FROM projects") == [(1, "one"), (2, "zwei")]
    assert _rows(path, "SELECT value FROM daemon_meta WHERE key = 'device'") == [("mac-1",)]
    assert _version(path) == "18"


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    path = _daemon_database(tmp_path / "local.db")
    migrate(path)
    content = path.read_bytes()
    migrate(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("version", ["16", "19", "0", "-1", "eighteen", "", "１８", "18.0", "9" * 30])
def test_another_version_is_refused_with_what_to_do_and_the_file_stays(tmp_path: Path, version: str) -> None:
    path = _daemon_database(tmp_path / "local.db", version)
    content = path.read_bytes()
    with pytest.raises(SchemaRefused, match=r"update|open it once|restore"):
        migrate(path)
    assert path.read_bytes() == content


def test_a_database_without_a_version_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "local.db")
    connection.execute("CREATE TABLE notes (text TEXT)")
    connection.close()
    with pytest.raises(SchemaRefused, match="move it away"):
        migrate(tmp_path / "local.db")


@pytest.mark.parametrize(
    "content", [b"not a database at all, but text" * 100, b"SQLite format 3\x00" + b"\xff" * 5_000]
)
def test_garbage_is_refused_and_the_file_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "local.db"
    path.write_bytes(content)
    with pytest.raises(SchemaRefused, match="restore it from a backup"):
        migrate(path)
    assert path.read_bytes() == content


def test_a_version_that_does_not_fit_its_tables_is_refused(tmp_path: Path) -> None:
    path = _daemon_database(tmp_path / "local.db")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE retrieval_runs (id INTEGER)")
    connection.close()
    with pytest.raises(SchemaRefused, match="retrieval_runs"):
        migrate(path)


def test_a_migration_whose_second_statement_fails_leaves_nothing_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _daemon_database(tmp_path / "local.db")
    before = _schema(path)
    monkeypatch.setattr(migrations, "MIGRATIONS", {18: ("CREATE TABLE first (a)", "CREATE TABLE first (b)")})
    with pytest.raises(SchemaRefused):
        migrate(path)
    assert _schema(path) == before
    monkeypatch.undo()
    migrate(path)
    assert _version(path) == "18"


@pytest.fixture
def nineteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A next release, with a table more."""
    tables = {**migrations.TABLES_OF, 19: TABLES | {"nineteen"}}
    statements = ("CREATE TABLE nineteen (a)", "INSERT INTO nineteen SELECT count(*) FROM retrieval_runs")
    monkeypatch.setattr(migrations, "TABLES_OF", tables)
    monkeypatch.setattr(migrations, "MIGRATIONS", {**migrations.MIGRATIONS, 19: statements})
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", 19)


@pytest.mark.usefixtures("nineteen")
def test_a_next_migration_runs_after_this_one_in_the_same_transaction(tmp_path: Path) -> None:
    path = _daemon_database(tmp_path / "local.db")
    statements: list[str] = []
    migrate(path, statements.append)
    assert "nineteen" in _schema(path)
    assert _version(path) == "19"
    assert [s for s in statements if "BEGIN" in s or s == "COMMIT"] == ["BEGIN IMMEDIATE", "COMMIT"]


def _full_store(directory: Path) -> Path:
    bodies = {"doc-0001": b"one", "doc-0002": b"two"}
    with Store(directory) as store:
        store.put(a_memory(bodies), bodies)
        store.record("run-1", a_memory(bodies), candidates=2)
        case, _ = store.create_case.create("run-1", "", "")
        store.judge(case.case_id, 1, Judgment("doc-0001", None, 3, False, "", "human"))
    return directory / "local.db"


def test_a_store_of_this_release_keeps_every_row_in_the_next(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = _full_store(tmp_path)
    before = {table: _rows(path, f"SELECT * FROM {table}") for table in sorted(TABLES)}  # noqa: S608 - names of ours
    assert all(before.values())
    request.getfixturevalue("nineteen")
    migrate(path)
    assert {table: _rows(path, f"SELECT * FROM {table}") for table in sorted(TABLES)} == before  # noqa: S608
    assert (_version(path), _rows(path, "SELECT a FROM nineteen")) == ("19", [(1,)])


def test_a_next_migration_that_fails_leaves_this_release_s_store(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _full_store(tmp_path)
    before = _schema(path)
    with monkeypatch.context() as patched:
        request.getfixturevalue("nineteen")
        patched.setitem(migrations.MIGRATIONS, 19, ("CREATE TABLE nineteen (a)", "CREATE TABLE nineteen (a)"))  # type: ignore[arg-type]
        with pytest.raises(SchemaRefused):
            migrate(path)
    assert (_version(path), _schema(path)) == ("18", before)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [True, False])
def test_a_migration_killed_before_any_statement_leaves_the_old_schema_or_the_new(tmp_path: Path, fresh: bool) -> None:
    statements: list[str] = []
    migrate(tmp_path / "count.db" if fresh else _daemon_database(tmp_path / "count.db"), statements.append)
    for at in range(len(statements)):
        path = tmp_path / f"{at}.db"
        if not fresh:
            _daemon_database(path)
        before = _schema(path)
        killed = subprocess.run([sys.executable, "-c", KILLED, str(path), str(at)], cwd=ROOT, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert _schema(path) in (before, _schema(tmp_path / "count.db"))
        migrate(path)
        assert _version(path) == "18"
        assert _rows(path, "PRAGMA integrity_check") == [("ok",)]
        path.unlink()

"""The database: safety on every connection, one writer, readers of their own."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peewee import OperationalError

from history_service.domain.errors import FieldInvalid, WriteFailed
from history_service.store import database as database_module
from history_service.store.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "local.db")
    yield opened
    opened.close()


def _in_threads(count: int, work: Any) -> list[Any]:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: results.append(work(n))) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _pragma(db: Any, name: str) -> Any:
    return db.execute_sql(f"PRAGMA {name}").fetchone()[0]


def test_foreign_keys_are_on_in_every_reader_and_in_the_writer_inside_its_transaction(database: Database) -> None:
    gate = threading.Barrier(8)

    def read(_n: int) -> int:
        with database.reading() as db:
            gate.wait(10)
            return int(_pragma(db, "foreign_keys"))

    assert _in_threads(8, read) == [1] * 8
    assert database.write(lambda db: _pragma(db, "foreign_keys")).result() == 1


def test_commits_are_synced_and_logged_ahead(database: Database) -> None:
    assert database.write(lambda db: (_pragma(db, "journal_mode"), _pragma(db, "synchronous"))).result() == ("wal", 2)


def test_a_connection_that_does_not_take_its_settings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "PRAGMAS", {"journal_mode": "wal", "synchronous": "full"})
    opened = Database(tmp_path / "local.db")
    with pytest.raises(OperationalError, match="settings"), opened.reading():
        pass
    opened.close()


def test_a_reader_cannot_write(database: Database) -> None:
    with database.reading() as db, pytest.raises(Exception, match=r"readonly|read-only"):
        db.execute_sql("DELETE FROM daemon_meta")


def test_a_reader_sees_one_state_however_much_is_written_meanwhile(database: Database) -> None:
    with database.reading() as db:
        before = db.execute_sql("SELECT count(*) FROM daemon_meta").fetchone()
        database.write(lambda w: w.execute_sql("INSERT INTO daemon_meta VALUES ('a', '1')")).result()
        assert db.execute_sql("SELECT count(*) FROM daemon_meta").fetchone() == before


def test_twenty_writers_that_read_before_they_write_all_commit(database: Database) -> None:
    database.write(lambda db: db.execute_sql("INSERT INTO daemon_meta VALUES ('counter', '0')")).result()

    def add(db: Any) -> None:
        (value,) = db.execute_sql("SELECT value FROM daemon_meta WHERE key = 'counter'").fetchone()
        db.execute_sql("UPDATE daemon_meta SET value = ? WHERE key = 'counter'", (str(int(value) + 1),))

    _in_threads(20, lambda _n: database.write(add).result())
    with database.reading() as db:
        assert db.execute_sql("SELECT value FROM daemon_meta WHERE key = 'counter'").fetchone() == ("20",)


def test_a_failed_write_takes_back_all_of_itself_and_nothing_of_the_others_in_its_transaction(
    database: Database,
) -> None:
    hold, held = threading.Event(), threading.Event()

    def wait(_db: Any) -> None:
        held.set()
        hold.wait(10)

    first = database.write(wait)
    held.wait(10)

    def insert(key: str, then: Exception | None = None) -> Any:
        def job(db: Any) -> str:
            db.execute_sql("INSERT INTO daemon_meta VALUES (?, '')", (key,))
            if then is not None:
                raise then
            return key

        return job

    jobs = [insert("a"), insert("b", FieldInvalid("x", "is wrong")), insert("c", KeyError("defect")), insert("d")]
    futures = [database.write(job) for job in jobs]
    hold.set()
    first.result()
    assert futures[0].result() == "a"
    with pytest.raises(FieldInvalid):
        futures[1].result()
    with pytest.raises(WriteFailed) as defect:
        futures[2].result()
    assert isinstance(defect.value.__cause__, KeyError)
    assert futures[3].result() == "d"
    with database.reading() as db:
        keys = {key for (key,) in db.execute_sql("SELECT key FROM daemon_meta").fetchall()}
    assert {"a", "d"} <= keys
    assert not {"b", "c"} & keys
    assert database.write_failure_count == 1


def test_many_writes_share_a_commit(database: Database) -> None:
    statements: list[str] = []
    hold, held = threading.Event(), threading.Event()

    def wait(db: Any) -> None:
        db.connection().set_trace_callback(statements.append)
        held.set()
        hold.wait(10)

    database.write(wait)
    held.wait(10)
    writes = [
        database.write(lambda db, n=n: db.execute_sql("INSERT INTO daemon_meta VALUES (?, '')", (str(n),)))
        for n in range(50)
    ]
    hold.set()
    for write in writes:
        write.result()
    assert statements.count("COMMIT") == 2
    assert [s for s in statements if s.startswith("BEGIN")] == ["BEGIN IMMEDIATE"]


def test_a_full_disk_fails_the_write_and_is_counted_and_the_next_write_works(database: Database) -> None:
    def fill(db: Any) -> None:
        db.execute_sql("PRAGMA max_page_count = 1")
        db.execute_sql("CREATE TABLE big (content BLOB)")
        db.execute_sql("INSERT INTO big VALUES (zeroblob(10000000))")

    with pytest.raises(WriteFailed):
        database.write(fill).result()
    assert database.write_failure_count == 1
    database.write(lambda db: db.execute_sql("PRAGMA max_page_count = 1000000")).result()
    database.write(lambda db: db.execute_sql("INSERT INTO daemon_meta VALUES ('after', '')")).result()


def test_a_closed_database_refuses_to_write_instead_of_waiting_for_ever(tmp_path: Path) -> None:
    database = Database(tmp_path / "local.db")
    last = database.write(lambda db: db.execute_sql("INSERT INTO daemon_meta VALUES ('last', '')"))
    database.close()
    assert last.done()
    with pytest.raises(WriteFailed, match="closed"):
        database.write(lambda _db: None)


def test_a_fork_that_uses_the_parents_database_is_told_so(database: Database) -> None:
    with database.reading():
        pass
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: database.reading().__enter__(), lambda: database.write(lambda _db: None)):
            try:
                use()
            except RuntimeError as error:
                refused += "fork" in str(error)
        os._exit(0 if refused == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_database_and_log_are_owner_only_whatever_the_umask_and_whatever_they_were(tmp_path: Path) -> None:
    path = tmp_path / "local.db"
    before = os.umask(0o022)
    try:
        database = Database(path)
        database.write(lambda db: db.execute_sql("INSERT INTO daemon_meta VALUES ('a', '')")).result()
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert modes == {"local.db": 0o600, "local.db-wal": 0o600, "local.db-shm": 0o600}
        database.close()
        path.chmod(0o644)
        Database(path).close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_closing_under_a_query_leaves_the_query_its_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "LAST_READS_SECONDS", 0.01)
    database = Database(tmp_path / "local.db")
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) SELECT count(*) FROM n"
    counts: list[int] = []
    begun = threading.Event()

    def read() -> None:
        with database.reading() as connection:
            begun.set()
            counts.append(connection.execute_sql(slow).fetchone()[0])

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait()
    database.close()
    reader.join()
    assert counts == [3_000_000]

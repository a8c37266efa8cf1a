"""The SQLite database: one writer thread with group commit, and readers from a pool of their own.

Every connection gets its pragmas from the constructor: SQLite's own defaults (foreign keys off) hold per connection,
and a pragma inside a transaction does nothing.
"""

import logging
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from playhouse.pool import PooledSqliteDatabase  # type: ignore[import-untyped]

from history_service.domain.errors import HistoryError, WriteFailed
from history_service.store.connection import Connection
from history_service.store.migrations import migrate
from ranktrail_serving.ownership import require_private_file

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
Job = Callable[[Connection], Answer]

PAGE_BYTES = 8_192
"""Of a new file; holds five candidates of usual size where SQLite's default holds two."""
PRAGMAS = {"journal_mode": "wal", "synchronous": "full", "foreign_keys": 1}
WRITER_PRAGMAS = {"cache_size": -16_384, "temp_store": "memory"}
"""Room for what a group of Runs changes, 16 MiB, so that none of it is written twice or set aside in a file."""
BUSY_TIMEOUT_SECONDS = 5
READER_LIMIT = 16
READER_WAIT_SECONDS = 30
LAST_READS_SECONDS = 5.0
"""How long closing waits for queries under way."""
MAX_JOBS_PER_COMMIT = 128
_FULL = 2


class _Checked(PooledSqliteDatabase):  # type: ignore[misc]
    """Connections that are only handed out with the safety that was asked for."""

    def _add_conn_hooks(self, connection: sqlite3.Connection) -> None:
        super()._add_conn_hooks(connection)
        found = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("foreign_keys", "synchronous", "journal_mode")
        ]
        if found != [1, _FULL, "wal"]:
            raise sqlite3.OperationalError(f"the database does not accept its settings: {found}")


class Database:
    """An open database. Bound to the process that opened it: a fork must open its own."""

    def __init__(self, path: Path) -> None:
        """Create or migrate the file, owner-only, and open it; raise SchemaRefused when it is not one of ours.

        The file's directory must be locked by this process.
        """
        self.path = path
        self._pid = os.getpid()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            require_private_file(descriptor, f"database {path}")
        finally:
            os.close(descriptor)
        for file in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
            if file.exists():
                file.chmod(0o600)
        _set_page_size(path)
        migrate(path)
        self._write_failures = 0
        self._writer = self._open(PRAGMAS | WRITER_PRAGMAS, max_connections=1)
        self._readers = self._open(PRAGMAS, max_connections=READER_LIMIT)
        self._lock = threading.Lock()
        self._returned = threading.Condition()
        self._lent_count = 0
        self._closed = False
        self._jobs: queue.SimpleQueue[tuple[Job[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_until_closed, name="history-writer", daemon=True)
        self._thread.start()

    @property
    def write_failure_count(self) -> int:
        """Writes that the database or the disk refused since it was opened."""
        return self._write_failures

    @property
    def size_bytes(self) -> int:
        """Bytes of the database and its log."""
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Lend a read-only connection whose queries all see one state of the database. Do not yield rows out of it."""
        self._check_process()
        with self._lent(), self._readers.connection_context():
            self._readers.execute_sql("PRAGMA query_only = 1")
            with self._readers.transaction("DEFERRED"):
                yield self._readers

    def write(self, job: Job[Answer]) -> "Future[Answer]":
        """Run `job` in the writer thread, wholly or not at all, in a transaction that other jobs may share.

        The future has the job's answer once that is committed to disk, the HistoryError that the job raised, or
        WriteFailed, also when the job met with any other exception.
        """
        self._check_process()
        future: Future[Answer] = Future()
        with self._lock:
            if self._closed:
                raise WriteFailed("the database is closed")
            self._jobs.put((job, future))
        return future

    def close(self) -> None:
        """Commit what was given to `write` so far and close every connection; one that somebody still reads from stays.

        To close it under a query would end the process.
        """
        with self._lock:
            if not self._closed:
                self._jobs.put(None)
            self._closed = True
        self._thread.join()
        with self._returned:
            self._returned.wait_for(lambda: self._lent_count == 0, LAST_READS_SECONDS)
        self._readers.close_idle()

    @contextmanager
    def _lent(self) -> Iterator[None]:
        with self._returned:
            self._lent_count += 1
        try:
            yield
        finally:
            with self._returned:
                self._lent_count -= 1
                self._returned.notify_all()

    def _open(self, pragmas: dict[str, Any], max_connections: int) -> _Checked:
        return _Checked(
            os.fspath(self.path),
            pragmas=pragmas,
            max_connections=max_connections,
            timeout=READER_WAIT_SECONDS,
            check_same_thread=False,
            cached_statements=256,
        )

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError("a database handle was carried over a fork: open the database in the new process")

    def _write_until_closed(self) -> None:
        closing = False
        while not closing:
            batch = [self._jobs.get()]
            while len(batch) < MAX_JOBS_PER_COMMIT and not self._jobs.empty():
                batch.append(self._jobs.get())
            closing = None in batch
            self._commit([item for item in batch if item is not None])
        self._writer.close_all()

    def _commit(self, batch: list[tuple[Job[Any], Future[Any]]]) -> None:
        try:
            with self._writer.atomic("IMMEDIATE"):
                outcomes = [self._outcome(job) for job, _ in batch]
        except Exception as error:
            outcomes = [(None, self._failure(error))] * len(batch)
        for (_, future), (answer, problem) in zip(batch, outcomes, strict=True):
            if problem is None:
                future.set_result(answer)
            else:
                future.set_exception(problem)

    def _outcome(self, job: Job[Any]) -> tuple[Any, HistoryError | None]:
        """Run one job inside a savepoint of its own, so that its failure takes back its writes and no others."""
        self._writer.execute_sql("SAVEPOINT job")
        try:
            answer, problem = job(self._writer), None
        except Exception as error:
            self._writer.execute_sql("ROLLBACK TO job")
            answer, problem = None, error if isinstance(error, HistoryError) else self._failure(error)
        self._writer.execute_sql("RELEASE job")
        return answer, problem

    def _failure(self, error: Exception) -> WriteFailed:
        logger.error("history could not write", exc_info=error)
        self._write_failures += 1
        failure = WriteFailed("history could not write")
        failure.__cause__ = error
        return failure


def _set_page_size(path: Path) -> None:
    """Choose the page size while the file is empty; later it cannot be changed."""
    if path.stat().st_size == 0:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA journal_mode = wal")
        connection.close()

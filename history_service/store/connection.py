"""What a job writes with and a reader reads with."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Protocol


class Connection(Protocol):
    """The part of a peewee database that a query's `execute` and the statements written out need."""

    def execute_sql(self, sql: str, params: Sequence[Any] | None = None) -> sqlite3.Cursor:
        """Run one statement."""

    def connection(self) -> sqlite3.Connection:
        """Return the connection itself."""

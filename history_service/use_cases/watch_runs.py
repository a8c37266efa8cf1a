"""Follows the changes of Runs.

A watch holds a number and nothing else: what it has not sent yet waits in the database.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from history_service.domain.errors import FieldInvalid
from history_service.domain.run import Run
from history_service.store import read_runs
from history_service.store.database import Database
from history_service.use_cases.changes import Changes

PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class WatchRuns:
    """Begins watches."""

    database: Database
    changes: Changes

    def position(self, after: int | None) -> int:
        """Return the change_sequence to begin behind: the one given, else the present one.

        Raise FieldInvalid when history has not come as far as the one given.
        """
        with self.database.reading() as db:
            last = read_runs.last_change_sequence(db)
        if after is not None and not 0 <= after <= last:
            raise FieldInvalid("after_change_sequence", f"is not from this history, whose last is {last}", last)
        return last if after is None else after

    def follow(self, position: int, project_id: str | None, is_over: Callable[[], bool]) -> Iterator[Run]:
        """Yield each changed Run in the order of change_sequence, until `is_over`.

        Whoever makes that true tells the changes, which wakes this.
        """
        while not is_over():
            seen = self.changes.count
            with self.database.reading() as db:
                last = read_runs.last_change_sequence(db)
                page = read_runs.changed_runs(db, position, project_id, PAGE_SIZE)
            yield from page
            position = page[-1].change_sequence if len(page) == PAGE_SIZE else last
            if len(page) < PAGE_SIZE and not is_over():
                self.changes.wait(seen)

"""Clears history: every Run that is neither running nor pinned by a case."""

from dataclasses import dataclass

from history_service.store import removable_runs
from history_service.store.awaited import AwaitedCorpora
from history_service.store.database import Database
from history_service.store.removable_runs import Removal
from history_service.use_cases.collect_garbage import CollectGarbage
from history_service.use_cases.prune_history import RUNS_PER_STEP


@dataclass(frozen=True, slots=True)
class ClearHistory:
    """Deletes Runs of one project, or of all when it is None, and what only they used."""

    database: Database
    collect: CollectGarbage
    awaited: AwaitedCorpora

    def preview(self, project_id: str | None) -> Removal:
        """Say what would go now."""
        with self.database.reading() as db:
            return removable_runs.preview(db, project_id, self.awaited.hashes())

    def clear(self, project_id: str | None) -> Removal:
        """Delete the Runs that are there now and say what went; Runs that end meanwhile stay."""
        with self.collect.alone():
            gone = self._delete_runs(project_id)
            collected = self.collect.manifests(hash_ for hash_ in gone if hash_ is not None)
        return Removal(len(gone), collected.blob_count, collected.blob_bytes)

    def _delete_runs(self, project_id: str | None) -> list[str | None]:
        with self.database.reading() as db:
            sequences = removable_runs.removable(db, project_id)
        gone: list[str | None] = []
        for start in range(0, len(sequences), RUNS_PER_STEP):
            step = sequences[start : start + RUNS_PER_STEP]
            gone += self.database.write(lambda db, step=step: removable_runs.delete_runs(db, step)).result()  # type: ignore[misc]
        return gone

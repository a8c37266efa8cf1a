"""Says what this process holds."""

from dataclasses import dataclass

from history_service.domain.run import RunState
from history_service.store import cases, corpora, read_runs
from history_service.store.database import Database
from history_service.store.migrations import SCHEMA_VERSION


@dataclass(frozen=True, slots=True)
class Holdings:
    """Numbers and sizes of what is stored; `write_failure_count` since start."""

    database_bytes: int
    blob_bytes: int
    blob_count: int
    schema_version: int
    run_count: int
    running_run_count: int
    case_count: int
    write_failure_count: int
    change_sequence: int


def describe_holdings(database: Database) -> Holdings:
    """Count what is stored."""
    with database.reading() as db:
        blob_count, blob_bytes = corpora.blob_totals(db)
        return Holdings(
            database_bytes=database.size_bytes,
            blob_bytes=blob_bytes,
            blob_count=blob_count,
            schema_version=SCHEMA_VERSION,
            run_count=read_runs.count_runs(db),
            running_run_count=read_runs.count_runs(db, RunState.RUNNING),
            case_count=cases.count_cases(db),
            write_failure_count=database.write_failure_count,
            change_sequence=read_runs.last_change_sequence(db),
        )

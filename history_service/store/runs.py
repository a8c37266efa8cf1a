"""Runs and their candidates: writing. Every function runs inside one write transaction."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from peewee import SQL, SqliteDatabase

from history_service.domain.run import Candidate, Failure, Revisions, RunStart, RunState, RunTrace
from history_service.store.tables import META, RUNS

CHANGE_SEQUENCE = "retrieval_change_sequence"
START_COLUMNS = RunStart.__slots__
_INSERT_CANDIDATE = "INSERT INTO retrieval_run_candidates (run_sequence, {}) VALUES ({})".format(  # noqa: S608
    ", ".join(Candidate._fields), ", ".join("?" * (1 + len(Candidate._fields)))
)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What decides whether a trace may be written over a stored Run; `trace_digest` is None until one was."""

    sequence: int
    state: RunState
    trace_digest: str | None
    start: RunStart


def find_run(db: SqliteDatabase, run_id: str) -> StoredRun | None:
    """Return the stored Run of this id."""
    columns = [getattr(RUNS, name) for name in START_COLUMNS]
    query = RUNS.select(RUNS.sequence, RUNS.state, RUNS.trace_digest, *columns).where(RUNS.run_id == run_id)
    row = next(iter(query.tuples().execute(db)), None)
    if row is None:
        return None
    sequence, state, trace_digest, *start = row
    return StoredRun(sequence, RunState(state), trace_digest, RunStart(*start))


def insert_running(db: SqliteDatabase, start: RunStart) -> int:
    """Insert a Run in state running; return its sequence."""
    row = {name: getattr(start, name) for name in START_COLUMNS}
    row |= {"change_sequence": next_change_sequence(db), "state": RunState.RUNNING.value, "query_folded": folded(start.query)}
    return int(RUNS.insert(row).execute(db))


def finish_run(db: SqliteDatabase, sequence: int, trace: RunTrace) -> None:
    """Insert the candidates of a Run and make it terminal."""
    insert_candidates(db, sequence, trace.candidates)
    end = trace.end
    row = {name: getattr(trace.revisions, name) for name in Revisions.__slots__}
    row |= {
        "state": end.state.value,
        "change_sequence": next_change_sequence(db),
        "trace_digest": trace.digest,
        "complete_time_us": end.complete_time_us,
        "stage_latencies": json.dumps([[latency.stage, latency.duration_us] for latency in end.stage_latencies]),
        "cold": end.cold,
        "query_token_count": end.query_token_count,
        "query_tokens_encoded": end.query_tokens_encoded,
        "returned_fragment_count": end.returned_fragment_count,
        "returned_token_count": end.returned_token_count,
        "candidate_count": end.candidate_count,
        "candidates_digest": end.candidates_digest,
    }
    RUNS.update(row | _failure_columns(end.failure)).where(RUNS.sequence == sequence).execute(db)


def insert_candidates(db: SqliteDatabase, sequence: int, candidates: Iterable[Candidate]) -> None:
    """Insert candidates in their order, on the connection itself: a Run has hundreds, and a query builder's own work
    on each would be most of the time."""
    db.connection().executemany(_INSERT_CANDIDATE, [(sequence, *candidate) for candidate in candidates])


def interrupt_runs(db: SqliteDatabase, run_ids: Iterable[str] | None, failure: Failure, now_us: int) -> int:
    """Make running Runs failed, of these ids or all; return how many."""
    query = RUNS.select(RUNS.sequence).where(RUNS.state == RunState.RUNNING.value).order_by(RUNS.sequence)
    if run_ids is not None:
        query = query.where(RUNS.run_id.in_(list(run_ids)))
    sequences = [sequence for (sequence,) in query.tuples().execute(db)]
    for sequence in sequences:
        row: dict[str, Any] = {"state": RunState.FAILED.value, "change_sequence": next_change_sequence(db)}
        row |= {"complete_time_us": now_us, "candidate_count": 0}
        RUNS.update(row | _failure_columns(failure)).where(RUNS.sequence == sequence).execute(db)
    return len(sequences)


def next_change_sequence(db: SqliteDatabase) -> int:
    """Give out the next change_sequence."""
    value = SQL("CAST(value AS INTEGER) + 1")
    update = META.update({META.value: value}).where(META.key == CHANGE_SEQUENCE).returning(META.value)
    ((text,),) = update.tuples().execute(db)
    return int(text)


def folded(text: str) -> bytes:
    """Return text as queries are compared: without regard to case, as UTF-8 bytes."""
    return text.casefold().encode("utf-8")


def _failure_columns(failure: Failure | None) -> dict[str, str | None]:
    stage, code, summary = (failure.stage, failure.code, failure.summary) if failure else (None, None, None)
    return {"failure_stage": stage, "failure_code": code, "failure_summary": summary}

"""Runs and their candidates: writing. Every function runs inside one write transaction.

The statements that each Run needs are written out once, since building one costs more than running it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain

from history_service.domain.errors import WriteFailed
from history_service.domain.run import Candidate, Failure, Revisions, RunEnd, RunStart, RunState, RunTrace
from history_service.store.connection import Connection
from history_service.store.tables import RUNS

CHANGE_SEQUENCE = "retrieval_change_sequence"
ROWS_PER_STATEMENT = 30
"""Candidates inserted at once: a statement gives Python's lock away and waits for it again, whatever it inserts.

Below every limit on variables that SQLite is built with.
"""
_NULL = float("nan")
"""SQLite takes it for NULL, and Python binds it several times as fast as None, for which it looks for an adapter."""
_END_COLUMNS = (
    "complete_time_us",
    "stage_latencies",
    "cold",
    "failure_stage",
    "failure_code",
    "failure_summary",
    "query_token_count",
    "query_tokens_encoded",
    "returned_fragment_count",
    "returned_token_count",
    "candidate_count",
    "candidates_digest",
)
_START = RunStart.__slots__
_TERMINAL = ("state", "change_sequence", "trace_digest", *Revisions.__slots__, *_END_COLUMNS)


def _insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


def _update_run(columns: tuple[str, ...]) -> str:
    return f"UPDATE retrieval_runs SET {', '.join(f'{name} = ?' for name in columns)} WHERE sequence = ?"  # noqa: S608


_FIND_RUN = f"SELECT sequence, state, trace_digest, {', '.join(_START)} FROM retrieval_runs WHERE run_id = ?"  # noqa: S608
_INSERT_RUN = _insert("retrieval_runs", (*_START, "query_folded", "state", "change_sequence"))
_FINISH_RUN = _update_run(_TERMINAL)
_INTERRUPT_RUN = _update_run(
    (
        "state",
        "change_sequence",
        "complete_time_us",
        "candidate_count",
        "failure_stage",
        "failure_code",
        "failure_summary",
    )
)
_NEXT_CHANGE = (
    "UPDATE daemon_meta SET value = CAST(value AS INTEGER) + 1 WHERE key = ? RETURNING CAST(value AS INTEGER)"
)


@cache
def _insert_candidates(count: int) -> str:
    """Return the statement for so many rows; its first parameter is the Run's sequence."""
    width = len(Candidate._fields)
    firsts = range(2, 2 + count * width, width)
    rows = ", ".join(f"(?1, {', '.join(f'?{n}' for n in range(first, first + width))})" for first in firsts)
    return f"INSERT INTO retrieval_run_candidates (run_sequence, {', '.join(Candidate._fields)}) VALUES {rows}"  # noqa: S608


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What decides whether a trace may be written over a stored Run; `trace_digest` is None until one was."""

    sequence: int
    state: RunState
    trace_digest: str | None
    start: RunStart


def find_run(db: Connection, run_id: str) -> StoredRun | None:
    """Return the stored Run of this id."""
    row = db.execute_sql(_FIND_RUN, (run_id,)).fetchone()
    if row is None:
        return None
    sequence, state, trace_digest, *start = row
    return StoredRun(sequence, RunState(state), trace_digest, RunStart(*start))


def insert_running(db: Connection, start: RunStart) -> int:
    """Insert a Run in state running; return its sequence."""
    values = [getattr(start, name) for name in _START]
    cursor = db.execute_sql(
        _INSERT_RUN, (*values, folded(start.query), RunState.RUNNING.value, next_change_sequence(db))
    )
    return int(cursor.lastrowid or 0)


def finish_run(db: Connection, sequence: int, trace: RunTrace) -> None:
    """Insert the candidates of a Run and make it terminal."""
    insert_candidates(db, sequence, trace.candidates)
    revisions = [getattr(trace.revisions, name) for name in Revisions.__slots__]
    state = (trace.end.state.value, next_change_sequence(db), trace.digest)
    db.execute_sql(_FINISH_RUN, (*state, *revisions, *_end_values(trace.end), sequence))


def insert_candidates(db: Connection, sequence: int, candidates: tuple[Candidate, ...]) -> None:
    """Insert candidates in their order; raise WriteFailed when fewer were stored than given."""
    connection, stored = db.connection(), 0
    for start in range(0, len(candidates), ROWS_PER_STATEMENT):
        some = candidates[start : start + ROWS_PER_STATEMENT]
        values = [_NULL if value is None else value for value in chain.from_iterable(some)]
        stored += connection.execute(_insert_candidates(len(some)), (sequence, *values)).rowcount
    if stored != len(candidates):
        raise WriteFailed(f"{stored} of {len(candidates)} candidates were stored")


def interrupt_runs(db: Connection, run_ids: Iterable[str] | None, failure: Failure, now_us: int) -> int:
    """Make running Runs failed, of these ids or all; return how many."""
    query = RUNS.select(RUNS.sequence, RUNS.run_id).where(RUNS.state == RunState.RUNNING.value)
    running = query.order_by(RUNS.sequence).tuples().execute(db)
    chosen = None if run_ids is None else frozenset(run_ids)
    sequences = [sequence for sequence, run_id in running if chosen is None or run_id in chosen]
    for sequence in sequences:
        state = (RunState.FAILED.value, next_change_sequence(db), now_us, 0)
        db.execute_sql(_INTERRUPT_RUN, (*state, failure.stage, failure.code, failure.summary, sequence))
    return len(sequences)


def next_change_sequence(db: Connection) -> int:
    """Give out the next change_sequence."""
    return int(db.execute_sql(_NEXT_CHANGE, (CHANGE_SEQUENCE,)).fetchone()[0])


def folded(text: str) -> bytes:
    """Return text as queries are compared: without regard to case, as UTF-8 bytes."""
    return text.casefold().encode("utf-8")


def _end_values(end: RunEnd) -> tuple[object, ...]:
    failure = (end.failure.stage, end.failure.code, end.failure.summary) if end.failure else (None, None, None)
    return (
        end.complete_time_us,
        json.dumps([[latency.stage, latency.duration_us] for latency in end.stage_latencies]),
        end.cold,
        *failure,
        end.query_token_count,
        end.query_tokens_encoded,
        end.returned_fragment_count,
        end.returned_token_count,
        end.candidate_count,
        end.candidates_digest,
    )

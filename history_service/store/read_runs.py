"""Runs and their candidates: reading. Every function returns values, never an open cursor."""

import json
from collections.abc import Sequence
from typing import Any

from peewee import JOIN, fn

from history_service.domain.run import (
    Candidate,
    Failure,
    Revisions,
    Run,
    RunEnd,
    RunFilter,
    RunStart,
    RunState,
    StageLatency,
)
from history_service.store.connection import Connection
from history_service.store.runs import CHANGE_SEQUENCE, folded
from history_service.store.tables import CASES, META, RUN_COLUMNS, RUNS, written_out

_REVISIONS_AT = 4 + len(RunStart.__slots__)
_END_AT = _REVISIONS_AT + len(Revisions.__slots__)
_CANDIDATES = (
    f"SELECT {', '.join(Candidate._fields)} FROM retrieval_run_candidates "  # noqa: S608
    "WHERE run_sequence = ? ORDER BY rowid"
)
_RUNS_AND_CASES: Any = RUNS.join(CASES, JOIN.LEFT_OUTER, on=(CASES.run_sequence == RUNS.sequence))
_COLUMNS = written_out(_RUNS_AND_CASES, [*(getattr(RUNS, name) for name in RUN_COLUMNS), CASES.case_id])
Position = tuple[int, int]
"""(create_time_us, sequence) of the last Run of a page."""


def run_by_id(db: Connection, run_id: str) -> Run | None:
    """Return the Run of this id."""
    runs = _runs(db, _select_runs().where(RUNS.run_id == run_id))
    return runs[0] if runs else None


def page_of_runs(db: Connection, which: RunFilter, after: Position | None, limit: int) -> list[Run]:
    """Return at most `limit` Runs, newest first (by create time, then arrival), that follow the position `after`."""
    query = _select_runs().order_by(RUNS.create_time_us.desc(), RUNS.sequence.desc()).limit(limit)
    for condition in _conditions(which):
        query = query.where(condition)
    if after is not None:
        time_us, sequence = after
        # The first condition bounds the index range; the second leaves out what the page before held of that time.
        query = query.where(RUNS.create_time_us <= time_us)
        query = query.where((RUNS.create_time_us < time_us) | (RUNS.sequence < sequence))
    return _runs(db, query)


def changed_runs(db: Connection, after: int, project_id: str | None, limit: int) -> list[Run]:
    """Return at most `limit` Runs whose change_sequence is larger than `after`, in that order."""
    query = _select_runs().where(RUNS.change_sequence > after).order_by(RUNS.change_sequence).limit(limit)
    return _runs(db, query if project_id is None else query.where(RUNS.project_id == project_id))


def last_change_sequence(db: Connection) -> int:
    """Return the change_sequence given out last."""
    ((text,),) = META.select(META.value).where(META.key == CHANGE_SEQUENCE).tuples().execute(db)
    return int(text)


def count_runs(db: Connection, state: RunState | None = None) -> int:
    """Return how many Runs there are, of one state or of all."""
    query = RUNS.select(fn.COUNT(RUNS.sequence))
    query = query if state is None else query.where(RUNS.state == state.value)
    ((count,),) = query.tuples().execute(db)
    return int(count)


def candidates_of(db: Connection, sequence: int) -> list[Candidate]:
    """Return a Run's candidates in final order; those without a final rank after them, by RRF rank, then as sent."""
    return sorted(candidates_as_sent(db, sequence), key=_final_order)


def candidates_as_sent(db: Connection, sequence: int) -> list[Candidate]:
    """Return a Run's candidates in the order in which they were recorded."""
    return [Candidate._make(row) for row in db.execute_sql(_CANDIDATES, (sequence,)).fetchall()]


def _final_order(candidate: Candidate) -> tuple[bool, int, bool, int]:
    final, rrf = candidate.final_rank, candidate.rrf_rank
    return final is None, final or 0, rrf is None, rrf or 0


def _select_runs() -> Any:
    return _RUNS_AND_CASES.select(_COLUMNS)


def _conditions(which: RunFilter) -> list[Any]:
    conditions = []
    if which.project_id is not None:
        conditions.append(RUNS.project_id == which.project_id)
    if which.state is not None:
        conditions.append(RUNS.state == which.state.value)
    if which.create_time_from_us is not None:
        conditions.append(RUNS.create_time_us >= which.create_time_from_us)
    if which.create_time_to_us is not None:
        conditions.append(RUNS.create_time_us < which.create_time_to_us)
    if which.query_text is not None:
        conditions.append(fn.instr(RUNS.query_folded, folded(which.query_text)) > 0)
    if which.pinned is not None:
        # Few Runs are pinned, so they are looked up; the unpinned are met on the way.
        pinned = RUNS.sequence.in_(CASES.select(CASES.run_sequence))
        conditions.append(pinned if which.pinned else CASES.case_id.is_null())
    return conditions


def _runs(db: Connection, query: Any) -> list[Run]:
    return [run_of_row(row) for row in query.tuples().execute(db)]


def run_of_row(row: Sequence[Any]) -> Run:
    """Return the Run of a row: RUN_COLUMNS, then the id of the case that pins it."""
    sequence, change_sequence, state, _trace_digest = row[:4]
    start = RunStart(*row[4:_REVISIONS_AT])
    revisions = Revisions(*row[_REVISIONS_AT:_END_AT])
    end = None if state == RunState.RUNNING.value else _end(RunState(state), row[_END_AT:-1])
    return Run(sequence, change_sequence, start, RunState(state), revisions, end, row[-1])


def _end(state: RunState, row: Sequence[Any]) -> RunEnd:
    complete_time_us, latencies, cold, stage, code, summary, *counts = row
    tokens, encoded, fragments, returned_tokens, candidate_count, candidates_digest = counts
    return RunEnd(
        state=state,
        complete_time_us=complete_time_us,
        stage_latencies=tuple(StageLatency(*latency) for latency in json.loads(latencies or "[]")),
        cold=None if cold is None else bool(cold),
        failure=None if code is None else Failure(stage, code, summary),
        query_token_count=tokens,
        query_tokens_encoded=encoded,
        returned_fragment_count=fragments,
        returned_token_count=returned_tokens,
        candidate_count=candidate_count,
        candidates_digest=candidates_digest or "",
    )

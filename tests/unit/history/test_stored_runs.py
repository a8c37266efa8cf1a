"""Runs in the database: order, text of every kind, and statements of every size."""

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from history_service.domain.run import (
    INTERRUPTED,
    Candidate,
    Revisions,
    RunEnd,
    RunFilter,
    RunStart,
    RunState,
    RunTrace,
)
from history_service.rpc.candidates import candidate_rows
from history_service.store import read_runs, runs
from history_service.store.database import Database
from ranktrail.history.v1 import history_service_pb2 as pb
from tests.history_builders import ABSENT_STATE, a_candidate

NOON_US = 1_767_268_800_000_000
EVERY = RunFilter()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "local.db")
    yield opened
    opened.close()


def a_start(run_id: str = "run-1", **changes: Any) -> RunStart:
    start = RunStart(run_id, "demo", "how?", "activation", ABSENT_STATE, "ranker-1", NOON_US)
    return replace(start, **changes)


def some_rows(count: int) -> tuple[Candidate, ...]:
    (row,) = candidate_rows(pb.CandidateFrame(candidates=[a_candidate()]))
    return tuple(row._replace(unit_key=f"unit-{n}", final_rank=n + 1) for n in range(count))


def a_trace(start: RunStart, rows: tuple[Candidate, ...] = (), state: RunState = RunState.SUCCEEDED) -> RunTrace:
    end = RunEnd(state, NOON_US + 1, (), False, None, 1, 1, 0, 0, len(rows), "")
    return RunTrace(start, Revisions(), end, rows)


def _record(database: Database, trace: RunTrace) -> int:
    def job(db: Any) -> int:
        sequence = runs.insert_running(db, trace.start)
        runs.finish_run(db, sequence, trace)
        return sequence

    return database.write(job).result()


def _listed(database: Database, which: RunFilter = EVERY) -> list[str]:
    with database.reading() as db:
        return [run.start.run_id for run in read_runs.page_of_runs(db, which, None, 1_000)]


def _count(database: Database, table: str) -> int:
    with database.reading() as db:
        return int(db.execute_sql(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - a table of ours


def test_deleting_a_run_takes_its_candidates_with_it(database: Database) -> None:
    _record(database, a_trace(a_start(), some_rows(20)))
    database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs")).result()
    assert _count(database, "retrieval_run_candidates") == 0
    with database.reading() as db:
        assert db.execute_sql("PRAGMA foreign_key_check").fetchall() == []


def test_a_run_that_a_case_pins_cannot_be_deleted(database: Database) -> None:
    sequence = _record(database, a_trace(a_start()))

    def pin(db: Any) -> None:
        db.execute_sql("INSERT INTO evaluation_corpora VALUES (?, 'demo', 0, 0)", ("a" * 64,))
        db.execute_sql(
            "INSERT INTO evaluation_cases (case_id, run_sequence, corpus_hash, project_id, query, create_time_us) "
            "VALUES ('case-1', ?, ?, 'demo', 'how?', 0)",
            (sequence, "a" * 64),
        )

    database.write(pin).result()
    with pytest.raises(Exception, match="could not write"):
        database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs")).result()
    assert _listed(database, RunFilter(pinned=True)) == ["run-1"]
    assert _listed(database, RunFilter(pinned=False)) == []


def test_candidates_and_the_terminal_state_are_stored_together_or_not_at_all(database: Database) -> None:
    twice = some_rows(3)[:2] + some_rows(1)
    database.write(lambda db: runs.insert_running(db, a_start())).result()
    with pytest.raises(Exception, match="could not write"):
        database.write(lambda db: runs.finish_run(db, 1, a_trace(a_start(), twice))).result()
    assert _count(database, "retrieval_run_candidates") == 0
    assert _listed(database, RunFilter(state=RunState.RUNNING)) == ["run-1"]


@pytest.mark.parametrize("count", [1, runs.ROWS_PER_STATEMENT, runs.ROWS_PER_STATEMENT + 1, 500])
def test_candidates_are_read_back_as_they_went_in_and_what_no_stage_said_is_null(
    database: Database, count: int
) -> None:
    unseen = dict.fromkeys(("exact_rank", "dense_score", "reranker_truncated", "final_rank", "final_stage"))
    rows = tuple(row._replace(**unseen) if n % 2 else row for n, row in enumerate(some_rows(count)))
    sequence = _record(database, a_trace(a_start(), rows))
    with database.reading() as db:
        assert tuple(read_runs.candidates_as_sent(db, sequence)) == rows
        for column in ("dense_score", "final_stage"):
            statement = f"SELECT typeof({column}) FROM retrieval_run_candidates ORDER BY rowid"  # noqa: S608
            types = [found for (found,) in db.execute_sql(statement)]
            assert types[1::2] == ["null"] * (count // 2)
            assert "null" not in types[::2]


def test_runs_are_ordered_by_instant_and_then_by_arrival(database: Database) -> None:
    """Instants: 12:00Z, 13:00+02:00 (which is 11:00Z), 12:00Z again, one microsecond later."""
    for run_id, time_us in [
        ("noon", NOON_US),
        ("east", NOON_US - 3_600_000_000),
        ("again", NOON_US),
        ("late", NOON_US + 1),
    ]:
        _record(database, a_trace(a_start(run_id, create_time_us=time_us)))
    assert _listed(database) == ["late", "again", "noon", "east"]


def test_sequences_are_never_given_out_twice(database: Database) -> None:
    first = _record(database, a_trace(a_start("a")))
    with database.reading() as db:
        last_change = read_runs.last_change_sequence(db)
    database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs")).result()
    assert _record(database, a_trace(a_start("b"))) > first
    with database.reading() as db:
        assert read_runs.last_change_sequence(db) == last_change + 2


def test_two_thousand_candidates_go_in_where_a_statement_takes_999_variables(database: Database) -> None:
    rows = some_rows(2_000)

    def job(db: Any) -> None:
        db.connection().setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        runs.finish_run(db, runs.insert_running(db, a_start()), a_trace(a_start(), rows))

    database.write(job).result()
    with database.reading() as db:
        db.connection().setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        assert read_runs.candidates_of(db, 1) == list(rows)


def test_candidates_come_back_in_final_order_then_by_fused_rank(database: Database) -> None:
    frame = pb.CandidateFrame(
        candidates=[
            a_candidate(5, final_rank=None, final_stage=None),
            a_candidate(4),
            a_candidate(3, final_rank=None, final_stage=None),
            a_candidate(1),
            a_candidate(9, final_rank=None, final_stage=None, rrf_rank=None, rrf_score=None),
        ]
    )
    _record(database, a_trace(a_start(), tuple(candidate_rows(frame))))
    with database.reading() as db:
        keys = [row.unit_key for row in read_runs.candidates_of(db, 1)]
    assert keys == [f"doc-000{n}#body/1/0" for n in (1, 4, 3, 5, 9)]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TEXT, middle=TEXT, after=TEXT)
def test_a_query_is_found_by_any_of_its_text_whatever_its_case_and_comes_back_exactly(
    database: Database, before: str, middle: str, after: str
) -> None:
    database.write(lambda db: db.execute_sql("DELETE FROM retrieval_runs")).result()
    query = before + middle + after
    _record(database, a_trace(a_start(query=query)))
    for text in (middle, middle.upper(), middle.casefold()):
        found = _listed(database, RunFilter(query_text=text))
        assert bool(found) == (text.casefold() in query.casefold())
    assert _listed(database, RunFilter(query_text=middle)) == ["run-1"]
    with database.reading() as db:
        stored = read_runs.run_by_id(db, "run-1")
    assert stored is not None
    assert stored.start.query == query


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("ab\0cd", "b\0C", True),
        ("ab\0cd", "d", True),
        ("STRASSE", "straße", True),
        ("ΟΔΟΣ", "οδος", True),
        ("東京タワー", "京タ", True),
        ("100%", "0%", True),
        ("100", "%", False),
        ("a_b", "axb", False),
        ("[a]", "[A", True),
    ],
)
def test_text_is_compared_and_not_interpreted(database: Database, query: str, text: str, found: bool) -> None:
    _record(database, a_trace(a_start(query=query)))
    assert bool(_listed(database, RunFilter(query_text=text))) is found


def test_filters_restrict_by_project_state_and_time(database: Database) -> None:
    _record(database, a_trace(a_start("a", create_time_us=NOON_US)))
    _record(database, a_trace(a_start("b", project_id="other", create_time_us=NOON_US + 5)))
    database.write(lambda db: runs.insert_running(db, a_start("c", create_time_us=NOON_US + 9))).result()
    assert _listed(database, RunFilter(project_id="other")) == ["b"]
    assert _listed(database, RunFilter(state=RunState.RUNNING)) == ["c"]
    assert _listed(database, RunFilter(create_time_from_us=NOON_US + 5)) == ["c", "b"]
    assert _listed(database, RunFilter(create_time_to_us=NOON_US + 5)) == ["a"]
    assert _listed(database, RunFilter(project_id="demo", state=RunState.SUCCEEDED)) == ["a"]


@pytest.mark.parametrize(
    "which",
    [
        RunFilter(),
        RunFilter(project_id="demo"),
        RunFilter(state=RunState.FAILED),
        RunFilter(project_id="demo", state=RunState.FAILED),
        RunFilter(create_time_from_us=1, create_time_to_us=2),
        RunFilter(project_id="demo", create_time_from_us=1),
    ],
)
def test_a_page_is_one_range_of_an_index_however_many_runs_there_are(database: Database, which: RunFilter) -> None:
    plans: list[str] = []
    with database.reading() as db:
        statements: list[str] = []
        db.connection().set_trace_callback(statements.append)
        read_runs.page_of_runs(db, which, (NOON_US, 7), 50)
        db.connection().set_trace_callback(None)
        page = next(statement for statement in statements if "ORDER BY" in statement)
        plans = [row[3] for row in db.execute_sql(f"EXPLAIN QUERY PLAN {page}").fetchall()]
    assert "SEARCH" in plans[0]
    assert "create_time_us<" in plans[0]
    assert not [step for step in plans if "TEMP B-TREE" in step or step.startswith("SCAN")]


def test_interrupted_runs_are_failed_and_others_stay(database: Database) -> None:
    _record(database, a_trace(a_start("done")))
    for run_id in ("one", "two"):
        database.write(lambda db, run_id=run_id: runs.insert_running(db, a_start(run_id))).result()
    assert database.write(lambda db: runs.interrupt_runs(db, ["one", "done"], INTERRUPTED, NOON_US)).result() == 1
    assert _listed(database, RunFilter(state=RunState.FAILED)) == ["one"]
    assert database.write(lambda db: runs.interrupt_runs(db, None, INTERRUPTED, NOON_US)).result() == 1
    with database.reading() as db:
        run = read_runs.run_by_id(db, "two")
    assert run is not None
    assert run.end is not None
    assert (run.end.failure, run.end.candidate_count, run.end.complete_time_us) == (INTERRUPTED, 0, NOON_US)

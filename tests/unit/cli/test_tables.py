"""Tables fit the terminal, and nothing that is to be copied is ever folded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.tables import NARROWEST_TERMINAL, Column, Table
from ranktrail_cli.trace_view import candidates_table, runs_table

RUN_ID = "01JD5Z6J8QW3N7M2K4R9T0V1XY"
UNIT = "runbooks/database-failover.md#fail-over/0/0"


def a_candidate() -> trace_pb2.Candidate:
    return trace_pb2.Candidate(
        unit_key=UNIT,
        exact_rank=1,
        exact_priority=1,
        bm25_rank=100,
        bm25_score=12.3456,
        dense_rank=100,
        dense_score=0.98765,
        rrf_rank=100,
        rrf_score=0.0163934,
        reranker_rank=24,
        reranker_score=10.123,
        relevance=0.1254,
        final_rank=24,
        final_stage="reranker",
        exclusion_reason=trace_pb2.EXCLUSION_REASON_PER_RESOURCE_LIMIT,
    )


def plain(table: Table, width: int | None) -> list[str]:
    return [line.plain for line in table.lines(width)]


@pytest.mark.parametrize("width", range(80, 200, 7))
def test_candidates_are_never_wider_than_the_terminal_and_lose_nothing(width: int) -> None:
    lines = plain(candidates_table([a_candidate()]), width)
    assert max(map(len, lines)) <= width
    shown = "\n".join(lines)
    for text in (UNIT, "per_resource_limit", "100 · 12.346", "100 · 0.988", "100 · 0.01639", "24 · 10.123", "0.125"):
        assert text in shown


def test_the_unit_goes_below_its_row_first_and_further_columns_only_when_they_must() -> None:
    candidates = candidates_table([a_candidate(), a_candidate()])
    assert len(plain(candidates, 200)) == 4
    assert plain(candidates, 130)[3] == f"    unit {UNIT}"
    assert "per_resource_limit" in plain(candidates, 130)[2]
    below = plain(candidates, 80)[3:5]
    assert below == ["    by reranker  outcome per_resource_limit  delta –", f"    unit {UNIT}"]


@pytest.mark.parametrize("width", [80, 100, 120, 200, None])
def test_a_run_s_id_stands_whole_at_the_begin_of_its_row(width: int | None) -> None:
    run = RetrievalRun(run_id=RUN_ID, project_id="p" * 40, query="q" * 60, candidate_count=100)
    lines = plain(runs_table([run]), width)
    assert sum(line.startswith(RUN_ID) for line in lines) == 1
    assert "q" * 60 in "\n".join(lines)
    if width is not None:
        assert max(map(len, lines[:3])) <= width


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=200)), max_size=5))
def test_where_there_is_no_terminal_each_row_is_one_line_whatever_it_holds(rows: list[tuple[str, str]]) -> None:
    table = Table((Column("a", is_number=True), Column("b", yields=1)))
    for row in rows:
        table.add(*row)
    lines = plain(table, None)
    assert len(lines) == 2 + len(rows)
    assert all(len(line.splitlines()) <= 1 for line in lines)


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=200)), min_size=1, max_size=5))
def test_what_stands_beside_others_fits_the_terminal(rows: list[tuple[str, str]]) -> None:
    table = Table((Column("a"), Column("b", yields=1)))
    for row in rows:
        table.add(f"|{row[0]}", row[1])
    lines = plain(table, NARROWEST_TERMINAL)
    beside = [line for line in lines if not line.startswith("    ")]
    assert all(cell_len(line) <= NARROWEST_TERMINAL for line in beside)

"""Cases and judgments as a person reads them."""

from collections.abc import Iterable

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationCase, EvaluationJudgment
from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail_cli.output import Output
from ranktrail_cli.report_view import print_measures
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import (
    CANDIDATE_COLUMNS,
    CANDIDATES_EXPLAINED,
    DASH,
    candidate_cells,
    counted,
    seconds_of,
    shortened,
)
from ranktrail_client.judgments import subject_of
from ranktrail_client.message_json import enum_word

RELEVANCE_WORDS = ("not relevant", "marginally relevant", "relevant", "an answer")
_CASE_COLUMNS = (
    Column("case"),
    Column("created"),
    Column("project", yields=2),
    Column("category", yields=2),
    Column("version", is_number=True),
    Column("judgments", is_number=True),
    Column("by", yields=2),
    Column("query", yields=1),
)
_JUDGMENT_COLUMNS = (
    Column("judged"),
    Column("source"),
    Column("missed"),
    Column("of", yields=1),
    Column("notes", yields=2),
)
_SOURCE = EvaluationJudgment.Source.DESCRIPTOR


def cases_table(cases: Iterable[EvaluationCase]) -> Table:
    """Return a table with a row a case."""
    table = Table(_CASE_COLUMNS)
    for one in cases:
        table.add(
            one.case_id,
            seconds_of(one.create_time),
            one.project_id,
            one.category or DASH,
            str(one.judgment_version),
            str(one.judgment_count),
            one.judgment_author or DASH,
            shortened(one.query),
        )
    return table


def judgment_words(judgment: EvaluationJudgment | None) -> str:
    """Return a judgment's relevance and who gave it, and a dash for none."""
    if judgment is None:
        return DASH
    return f"{relevance_words(judgment.relevance)} ({enum_word(_SOURCE, judgment.source) or DASH})"


def relevance_words(relevance: int) -> str:
    """Return a relevance, and what it means."""
    meaning = RELEVANCE_WORDS[relevance] if 0 <= relevance < len(RELEVANCE_WORDS) else "?"
    return f"{relevance} {meaning}"


def print_case(output: Output, found: GetRetrievalRunResponse) -> None:
    """Print a case: query, corpus, every candidate with its judgment, the other judgments, and the measures."""
    _print_head(output, found.evaluation_case)
    output.line()
    by_subject = {subject_of(one): one for one in found.judgments}
    table = Table((*CANDIDATE_COLUMNS[:-1], Column("judged", yields=1), CANDIDATE_COLUMNS[-1]))
    for candidate in found.candidates:
        *cells, unit = candidate_cells(candidate)
        judged = judgment_words(by_subject.pop((candidate.resource_id, candidate.unit_key), None))
        table.add(*cells, judged, unit, style="" if candidate.selected else "dim")
    if found.candidates:
        output.table(table)
        output.line()
        output.note(CANDIDATES_EXPLAINED)
    else:
        output.line("no candidates")
    _print_others(output, by_subject.values())
    output.line()
    print_measures(output, found.report)


def _print_head(output: Output, one: EvaluationCase) -> None:
    output.line(f"case {one.case_id}: project {one.project_id}, pinned {seconds_of(one.create_time)} UTC")
    output.line(f"query: {one.query}")
    for name, value in (("category", one.category), ("notes", one.notes)):
        if value:
            output.line(f"{name}: {value}")
    output.line(f"Run {one.run_id}")
    output.line(f"corpus {one.corpus_hash}: {counted(one.resource_count, 'resource')}")
    last = f" by {one.judgment_author}, {seconds_of(one.judge_time)} UTC" if one.judgment_author else ""
    output.line(f"version {one.judgment_version}: {counted(one.judgment_count, 'judgment')}{last}")


def _print_others(output: Output, judgments: Iterable[EvaluationJudgment]) -> None:
    """Print the judgments of whole resources."""
    table = Table(_JUDGMENT_COLUMNS)
    for one in judgments:
        table.add(
            relevance_words(one.relevance),
            str(enum_word(_SOURCE, one.source) or DASH),
            "missed" if one.missed else DASH,
            one.unit_key if one.HasField("unit_key") else one.resource_id,
            one.notes or DASH,
        )
    if table.is_empty:
        return
    output.line()
    output.line("judgments of whole resources")
    output.table(table)

"""What the page of a case is made of: its rows, and the document that its script works on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ranktrail.evaluation.v1.evaluation_service_pb2 import EvaluationJudgment
from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.message_json import dumps, enum_word, message_json
from ranktrail_diagnostics.blinding import Blind, row_key
from ranktrail_diagnostics.candidate_table import COLUMNS, Cell, Column
from ranktrail_diagnostics.query_terms import QueryTerms

SNIPPET_CHARACTERS = 260
SHOWN = {"final", "outcome", "bm25", "dense", "rrf", "rerank"}
COLUMNS_SHOWN = tuple(column for column in COLUMNS if column.key in SHOWN)
RELEVANCES = ("not relevant", "marginally relevant", "relevant", "an answer")


@dataclass(frozen=True, slots=True)
class JudgingRow:
    """A unit to judge; without `cells` when its ranks and scores are hidden."""

    key: str
    candidate: Candidate
    snippet: list[tuple[str, bool]]
    cells: list[tuple[Column, Cell]]

    @property
    def heading(self) -> str:
        """Its headings, outermost first."""
        return " › ".join(self.candidate.heading_path)  # noqa: RUF001 - it stands between headings


def judging_rows(found: GetRetrievalRunResponse, blind: Blind | None) -> list[JudgingRow]:
    """Return the rows of a case: in final order, or the pool of a blind sitting in its own."""
    terms = QueryTerms(found.run.query)
    columns = COLUMNS_SHOWN if blind is None else ()
    return [
        JudgingRow(
            row_key(one),
            one,
            terms.snippet(one.excerpt, SNIPPET_CHARACTERS),
            [(column, column.cell(one)) for column in columns],
        )
        for one in (found.candidates if blind is None else blind.rows(found.candidates))
    ]


def case_document(found: GetRetrievalRunResponse, rows: Sequence[JudgingRow]) -> str:
    """Return the JSON that the script works on, in characters that no template changes."""
    return embedded(
        {
            "case_id": found.evaluation_case.case_id,
            "version": found.evaluation_case.judgment_version,
            "judgments": [message_json(one) for one in found.judgments],
            "units": {row.key: [row.candidate.resource_id, row.candidate.unit_key] for row in rows},
            "recalled": sorted({one.resource_id for one in found.candidates}),
            "relevances": RELEVANCES,
        }
    )


def embedded(value: Any) -> str:
    """Return JSON of ASCII alone for an attribute, where every other character might be shown as another."""
    return dumps(value, ascii_only=True)


def judgment_words(judgment: EvaluationJudgment | None) -> str:
    """Return a judgment in words."""
    if judgment is None:
        return "no judgment"
    relevance = judgment.relevance
    meaning = RELEVANCES[relevance] if 0 <= relevance < len(RELEVANCES) else "?"
    source = enum_word(EvaluationJudgment.Source.DESCRIPTOR, judgment.source)
    missed = ", missed" if judgment.missed else ""
    return f"{relevance} {meaning}{missed} ({source})"

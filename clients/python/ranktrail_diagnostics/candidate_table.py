"""The table of a Run's candidates: which columns there are, and what stands in them."""

from collections.abc import Callable
from dataclasses import dataclass

from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.trace_words import EXCLUSIONS, optional
from ranktrail_diagnostics import words
from ranktrail_diagnostics.query_terms import QueryTerms
from ranktrail_diagnostics.words import DASH

SNIPPET_CHARACTERS = 180


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell: `main`, beside it `note`; `order` is what sorting compares, None where absent."""

    main: str
    note: str = ""
    order: float | str | None = None
    title: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `is_shown` says whether it is before a reader chose."""

    key: str
    label: str
    title: str
    cell: Callable[[Candidate], Cell]
    is_number: bool = True
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate at its position in final order, from 0."""

    position: int
    candidate: Candidate
    cells: list[tuple[Column, Cell]]
    snippet: list[tuple[str, bool]]

    @property
    def outcome(self) -> str:
        """The word of what became of it."""
        return "selected" if self.candidate.selected else words.exclusion(self.candidate.exclusion_reason) or DASH

    @property
    def heading(self) -> str:
        """Its headings, outermost first."""
        return " › ".join(self.candidate.heading_path)  # noqa: RUF001 - it stands between headings


def rows(candidates: list[Candidate], terms: QueryTerms) -> list[Row]:
    """Return a row a candidate."""
    return [
        Row(position, candidate, row_cells(candidate), terms.snippet(candidate.excerpt, SNIPPET_CHARACTERS))
        for position, candidate in enumerate(candidates)
    ]


def row_cells(candidate: Candidate) -> list[tuple[Column, Cell]]:
    """Return every column with a candidate's cell."""
    return [(column, column.cell(candidate)) for column in COLUMNS]


def outcome_sentence(candidate: Candidate) -> str:
    """Return what became of a candidate, in words."""
    if candidate.selected:
        action = words.delta(candidate.delta_action)
        return f"Selected: {words.DELTAS.get(action or '', action or DASH)}."
    reason = words.exclusion(candidate.exclusion_reason) or DASH
    return f"Not selected: {EXCLUSIONS.get(reason, reason)}."


def _ranked(rank: str, score: str | None = None, places: int = 3) -> Callable[[Candidate], Cell]:
    def cell(candidate: Candidate) -> Cell:
        value = optional(candidate, rank)
        if value is None:
            return _ABSENT
        note = "" if score is None else words.score(optional(candidate, score), places)
        return Cell(str(value), note, value)

    return cell


def _scored(field: str, kind: str = "") -> Callable[[Candidate], Cell]:
    def cell(candidate: Candidate) -> Cell:
        value = optional(candidate, field)
        return _ABSENT if value is None else Cell(words.score(value), order=value, kind=kind)

    return cell


def _final(candidate: Candidate) -> Cell:
    rank = optional(candidate, "final_rank")
    if rank is None:
        return _ABSENT
    return Cell(str(rank), order=rank, title=f"decided by the {words.stage_name(candidate.final_stage)}")


def _exact(candidate: Candidate) -> Cell:
    rank, priority = optional(candidate, "exact_rank"), optional(candidate, "exact_priority")
    if rank is None:
        return _ABSENT
    note = "" if priority is None else f"p{priority}"
    return Cell(str(rank), note, rank, words.EXACT_PRIORITIES.get(priority, ""))


def _outcome(candidate: Candidate) -> Cell:
    word = "selected" if candidate.selected else words.exclusion(candidate.exclusion_reason) or DASH
    return Cell(word.replace("_", " "), order=word, title=outcome_sentence(candidate), kind=f"outcome {word}")


def _delta(candidate: Candidate) -> Cell:
    word = words.delta(candidate.delta_action)
    return _ABSENT if word is None else Cell(word, order=word, title=words.DELTAS.get(word, ""), kind="delta")


_ABSENT = Cell(DASH, kind="absent", title="this stage did not see it")

COLUMNS = (
    Column("final", "final", "Rank in the final order", _final),
    Column("outcome", "outcome", "Whether it was returned, and why not", _outcome, is_number=False),
    Column("exact", "exact", "Rank among exact-identity hits, and the kind of hit", _exact),
    Column("bm25", "BM25", "Rank and score of BM25", _ranked("bm25_rank", "bm25_score")),
    Column(
        "lexical",
        "lexical",
        "Rank in the lexical list: exact hits first, then BM25",
        _ranked("lexical_rank"),
        is_shown=False,
    ),
    Column("dense", "dense", "Rank and cosine similarity of the dense vectors", _ranked("dense_rank", "dense_score")),
    Column("rrf", "fusion", "Rank and score of reciprocal rank fusion", _ranked("rrf_rank", "rrf_score", 4)),
    Column("rerank", "reranker", "Rank and score of the reranker", _ranked("reranker_rank", "reranker_score")),
    Column(
        "late",
        "late interaction",
        "The model's part of the reranker's score",
        _scored("late_interaction_score"),
        is_shown=False,
    ),
    Column("relevance", "relevance", "Calibrated reading of the model's part, 0 to 1", _scored("relevance", "meter")),
    Column("delta", "delta", "What the caller does with it", _delta, is_number=False),
    Column("tokens", "tokens", "Tokens of the unit", lambda c: Cell(str(c.token_count), order=c.token_count)),
    Column(
        "layer",
        "layer",
        "Layer of its resource",
        lambda c: Cell(words.layer(c.layer), order=words.layer(c.layer)),
        is_number=False,
        is_shown=False,
    ),
    Column(
        "kind",
        "kind",
        "Kind of its resource",
        lambda c: Cell(c.kind, order=c.kind),
        is_number=False,
        is_shown=False,
    ),
)

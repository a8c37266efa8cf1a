"""A ranking as a text that a person can read and a diff can show."""

import re
from collections.abc import Callable, Mapping, Sequence

from ranker_service.domain.candidate import Candidate

STAGES: Mapping[str, Callable[[Candidate], int | None]] = {
    "lexical": lambda candidate: candidate.lexical_rank,
    "dense": lambda candidate: candidate.dense_rank,
    "rrf": lambda candidate: candidate.rrf_rank,
    "final": lambda candidate: candidate.final_rank,
}
_COLUMNS = ("final", "exact", "bm25", "dense", "rrf", "rerank", "relevance", "disposition", "unit")

TOLERANCE = 0.002
"""How far a score may lie from its golden one: a CPU's rounding is its own, the order is not."""

_SCORE = re.compile(r"-?\d+\.\d{3}")


def ranking_text(query: str, candidates: Sequence[Candidate]) -> str:
    """Return the query and a table of its candidates: ranks, scores in brackets, and what became of each."""
    rows = [_COLUMNS, *(_row(candidate) for candidate in candidates)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS) - 1)]
    lines = ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows]
    return "\n".join([f"query: {query}", "", *lines]) + "\n"


def stats_text(rankings: Mapping[str, Sequence[Candidate]], relevant: Mapping[str, Sequence[str]]) -> str:
    """Return the rank of the first relevant candidate by query and stage, and each stage's mean of 1 / rank."""
    judged = [name for name in rankings if relevant[name]]
    firsts = {name: [_first(rankings[name], relevant[name], rank) for rank in STAGES.values()] for name in judged}
    rows = [("query", *STAGES), *((name, *map(_dash, ranks)) for name, ranks in firsts.items())]
    means = [sum(1 / rank for rank in stage if rank) / len(judged) for stage in zip(*firsts.values(), strict=True)]
    rows.append(("mean reciprocal rank", *(f"{mean:.3f}" for mean in means)))
    width = max(len(row[0]) for row in rows)
    return "".join(row[0].ljust(width) + "".join(cell.rjust(9) for cell in row[1:]) + "\n" for row in rows)


def same_but_for_rounding(text: str, golden: str) -> bool:
    """Say whether two texts have the same words and ranks, and scores within the tolerance."""
    words = [_SCORE.sub("#", some).split() for some in (text, golden)]
    scores = zip(_SCORE.findall(text), _SCORE.findall(golden), strict=False)
    return words[0] == words[1] and all(abs(float(score) - float(other)) <= TOLERANCE for score, other in scores)


def _row(candidate: Candidate) -> tuple[str, ...]:
    action = candidate.delta_action and candidate.delta_action.value
    reason = candidate.exclusion_reason and candidate.exclusion_reason.value
    return (
        _dash(candidate.final_rank),
        _ranked(candidate.exact_rank, candidate.exact_priority),
        _ranked(candidate.bm25_rank, candidate.bm25_score),
        _ranked(candidate.dense_rank, candidate.dense_score),
        _ranked(candidate.rrf_rank, candidate.rrf_score),
        _ranked(candidate.reranker_rank, candidate.reranker_score),
        _dash(candidate.relevance),
        action or reason or "-",
        candidate.unit.unit_key,
    )


def _ranked(rank: int | None, score: float | None) -> str:
    return "-" if rank is None else f"{rank} ({_dash(score)})"


def _dash(value: float | None) -> str:
    return "-" if value is None else str(value) if isinstance(value, int) else f"{round(value, 3) + 0.0:.3f}"


def _first(
    candidates: Sequence[Candidate], paths: Sequence[str], rank: Callable[[Candidate], int | None]
) -> int | None:
    ranks = [rank(candidate) for candidate in candidates if candidate.unit.resource.path in paths]
    return min((found for found in ranks if found is not None), default=None)

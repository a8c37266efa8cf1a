"""Two Runs side by side: how far each stage agrees, which units moved, and which revisions changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranktrail.history.v1.history_service_pb2 import GetRetrievalRunResponse
from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.trace_words import optional
from ranktrail_diagnostics.revisions import Revision, revisions_of

PERSISTENCE = 0.9
STAGES = (
    ("exact", "exact_rank"),
    ("bm25", "bm25_rank"),
    ("lexical", "lexical_rank"),
    ("vector", "dense_rank"),
    ("rrf", "rrf_rank"),
    ("rerank", "reranker_rank"),
    ("final", "final_rank"),
)


@dataclass(frozen=True, slots=True)
class StageAgreement:
    """How two rankings of one stage agree; `first_difference` is the first rank at which they differ, None if none."""

    stage: str
    counts: tuple[int, int]
    shared: int
    overlap: float
    first_difference: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """A unit's final rank in both Runs, and its position among each one's candidates; None where it is not one."""

    unit_key: str
    path: str
    heading: str
    ranks: tuple[int | None, int | None]
    positions: tuple[int | None, int | None]
    selected: tuple[bool, bool]
    is_edited: bool

    @property
    def rise(self) -> int | None:
        """By how many ranks it stands higher in the second Run."""
        before, after = self.ranks
        return None if before is None or after is None else before - after

    @property
    def change(self) -> str:
        """What became of it in the reply: entered, left, kept, or nothing."""
        return {(False, True): "entered", (True, False): "left", (True, True): "kept"}.get(self.selected, "")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two Runs."""

    stages: list[StageAgreement]
    moves: list[Move]
    revisions: list[tuple[Revision, Revision]]

    @property
    def first_stage(self) -> StageAgreement | None:
        """The first stage whose rankings differ."""
        return next((stage for stage in self.stages if stage.first_difference is not None), None)

    @property
    def changed_revisions(self) -> list[tuple[Revision, Revision]]:
        """The revisions that differ."""
        return [pair for pair in self.revisions if pair[0] != pair[1]]


def compare(before: GetRetrievalRunResponse, after: GetRetrievalRunResponse) -> Comparison:
    """Compare two Runs, each with its candidates."""
    return Comparison(
        stages=[_agreement(stage, field, before.candidates, after.candidates) for stage, field in STAGES],
        moves=_moves(before.candidates, after.candidates),
        revisions=list(zip(revisions_of(before.run), revisions_of(after.run), strict=True)),
    )


def rank_biased_overlap(left: Sequence[str], right: Sequence[str], persistence: float = PERSISTENCE) -> float:
    """Return the extrapolated rank-biased overlap of two rankings without duplicates, 0 to 1; two empty ones agree.

    Webber, Moffat, Zobel: A similarity measure for indefinite rankings (TOIS 2010), equation 32.
    """
    shorter, longer = sorted((left, right), key=len)
    s, l = len(shorter), len(longer)  # noqa: E741 - the paper's names
    if s == 0:
        return 1.0 if l == 0 else 0.0
    seen: set[str] = set()
    agreed, agreed_at_s, total = 0, 0, 0.0
    for depth in range(1, l + 1):
        for ranking in (shorter, longer):
            if depth <= len(ranking):
                agreed += ranking[depth - 1] in seen
                seen.add(ranking[depth - 1])
        if depth == s:
            agreed_at_s = agreed
        beyond = agreed_at_s * (depth - s) / (s * depth) if depth > s else 0.0
        total += (agreed / depth + beyond) * persistence**depth
    rest = ((agreed - agreed_at_s) / l + agreed_at_s / s) * persistence**l
    return (1 - persistence) / persistence * total + rest


def _agreement(stage: str, field: str, before: Sequence[Candidate], after: Sequence[Candidate]) -> StageAgreement:
    left, right = _ranking(before, field), _ranking(after, field)
    depth = max(len(left), len(right))
    differing = (rank for rank in range(1, depth + 1) if left[rank - 1 : rank] != right[rank - 1 : rank])
    return StageAgreement(
        stage=stage,
        counts=(len(left), len(right)),
        shared=len({*left} & {*right}),
        overlap=rank_biased_overlap(left, right),
        first_difference=next(differing, None),
    )


def _ranking(candidates: Sequence[Candidate], field: str) -> list[str]:
    ranked = [(rank, one.unit_key) for one in candidates if (rank := optional(one, field)) is not None]
    return [unit_key for _, unit_key in sorted(ranked)]


def _moves(before: Sequence[Candidate], after: Sequence[Candidate]) -> list[Move]:
    old = {one.unit_key: (position, one) for position, one in enumerate(before)}
    new = {one.unit_key: (position, one) for position, one in enumerate(after)}
    return [_move(key, old.get(key), new.get(key)) for key in [*new, *(key for key in old if key not in new)]]


def _move(unit_key: str, old: tuple[int, Candidate] | None, new: tuple[int, Candidate] | None) -> Move:
    both = [pair for pair in (new, old) if pair is not None]
    shown = both[0][1]
    return Move(
        unit_key=unit_key,
        path=shown.path,
        heading=" › ".join(shown.heading_path),  # noqa: RUF001 - it stands between headings
        ranks=(_rank(old), _rank(new)),
        positions=(None if old is None else old[0], None if new is None else new[0]),
        selected=(old is not None and old[1].selected, new is not None and new[1].selected),
        is_edited=len({pair[1].unit_digest for pair in both}) > 1,
    )


def _rank(pair: tuple[int, Candidate] | None) -> int | None:
    return None if pair is None else optional(pair[1], "final_rank")

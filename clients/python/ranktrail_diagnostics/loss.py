"""Where a Run lost a resource, or that it did not."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranktrail.trace.v1.trace_pb2 import Candidate, Resource
from ranktrail_client.trace_words import UNPARSED, leg_end, optional
from ranktrail_diagnostics import words
from ranktrail_diagnostics.candidate_table import outcome_sentence


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate of the resource: at its position in final order, what each leg and the selection made of it."""

    position: int
    candidate: Candidate
    legs: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Loss:
    """What became of one resource: `step` is where it was lost, or "returned"; `sentence` says it in words."""

    resource: Resource
    step: str
    sentence: str
    found: list[Found]


def losses(resources: Sequence[Resource], candidates: Sequence[Candidate]) -> list[Loss]:
    """Return what became of each resource of a Run's memory."""
    ends = _ends(candidates)
    by_resource: dict[str, list[Found]] = {}
    for position, candidate in enumerate(candidates):
        found = Found(position, candidate, _legs(candidate), outcome_sentence(candidate))
        by_resource.setdefault(candidate.resource_id, []).append(found)
    return [_loss(resource, by_resource.get(resource.resource_id, []), ends) for resource in resources]


def _loss(resource: Resource, found: list[Found], ends: str) -> Loss:
    if not found:
        state = words.parse_state(resource.parse_state)
        if state not in {None, "parsed"}:
            reason = UNPARSED.get(state, str(state))
            return Loss(resource, "not indexed", f"In the memory, but not indexed: {reason}.", [])
        sentence = f"Neither leg recalled a unit of it. {ends}"
        return Loss(resource, "not recalled", sentence, [])
    if any(one.candidate.selected for one in found):
        count = sum(one.candidate.selected for one in found)
        return Loss(resource, "returned", f"It was returned, with {words.counted(count, 'unit')}.", found)
    best = found[0]
    reason = words.exclusion(best.candidate.exclusion_reason) or words.DASH
    step = "not reranked" if reason == "not_reranked" else "excluded"
    sentence = f"Recalled with {words.counted(len(found), 'unit')}, none returned. The best: {best.legs} {best.outcome}"
    return Loss(resource, step, sentence, found)


def _legs(candidate: Candidate) -> str:
    """Return which leg recalled a candidate, and which did not."""
    recalled = [
        f"{name} rank {rank}"
        for name, field in (("exact", "exact_rank"), ("BM25", "bm25_rank"), ("dense", "dense_rank"))
        if (rank := optional(candidate, field)) is not None
    ]
    missed = [
        f"not by {name}"
        for name, field in (("the lexical leg", "lexical_rank"), ("the dense leg", "dense_rank"))
        if optional(candidate, field) is None
    ]
    return f"recalled by {', '.join(recalled) or 'no leg'}{', ' if missed else ''}{', '.join(missed)}."


def _ends(candidates: Sequence[Candidate]) -> str:
    """Return where both legs ended, in words."""
    bm25, dense = leg_end(candidates, "bm25"), leg_end(candidates, "dense")
    return f"{_end(bm25, 'BM25', 'score')}; {_end(dense, 'the dense leg', 'similarity')}."


def _end(end: tuple[int, float | None] | None, leg: str, measure: str) -> str:
    return f"{leg} recalled nothing" if end is None else f"{leg} ended at rank {end[0]} with {measure} {end[1]:.3f}"

"""What became of a candidate, and where a Run lost a resource. Pure."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from ranktrail.trace.v1.trace_pb2 import Candidate, ExclusionReason, ParseState, Resource
from ranktrail_client.message_json import enum_word
from ranktrail_client.trace_words import EXCLUSIONS, UNPARSED, leg_end, optional

Step = Literal["returned", "excluded", "not_reranked", "run_failed", "not_recalled", "not_indexed", "not_in_memory"]
LEGS = ("exact", "bm25", "dense")
STEPS: dict[str, Step] = {"": "returned", "not_reranked": "not_reranked", "run_failed": "run_failed"}
"""By the rule that kept the best candidate out; any other rule is "excluded"."""


class CandidateOutcome(BaseModel):
    """A candidate with what each stage made of it; null: the stage did not see it. Ranks are one-based."""

    unit_key: str
    resource_id: str
    path: str
    heading_path: list[str]
    selected: bool
    rule: str | None = Field(description="The selection rule that kept it out; null when selected")
    sentence: str = Field(description="What became of it")
    recalled_by: list[str] = Field(description="Legs that found it: exact, bm25, dense")
    missed_by: list[str] = Field(description="Legs that did not")
    exact_rank: int | None
    bm25_rank: int | None
    bm25_score: float | None
    dense_rank: int | None
    dense_score: float | None = Field(description="Cosine similarity")
    rrf_rank: int | None = Field(description="After the fusion of both lists")
    reranker_rank: int | None
    reranker_score: float | None
    relevance: float | None
    final_rank: int | None
    token_count: int
    excerpt: str


class LegEnd(BaseModel):
    """The last unit that a leg let in: one below it was not recalled."""

    rank: int
    score: float | None


class ResourceOutcome(BaseModel):
    """Where a resource was lost, or that it was not."""

    resource: str = Field(description="What was asked about")
    step: Step
    rule: str | None = Field(description="With excluded: the selection rule")
    sentence: str
    similar: list[str] = Field(description="Ids that may be meant instead")


def candidate_outcome(candidate: Candidate, *, excerpt: bool) -> CandidateOutcome:
    """Return one candidate, with its excerpt where asked."""
    ranks = {leg: optional(candidate, f"{leg}_rank") for leg in LEGS}
    numbers: dict[str, Any] = {
        name: optional(candidate, name)
        for name in CandidateOutcome.model_fields
        if name.endswith(("_rank", "_score")) or name == "relevance"
    }
    return CandidateOutcome(
        unit_key=candidate.unit_key,
        resource_id=candidate.resource_id,
        path=candidate.path,
        heading_path=list(candidate.heading_path),
        selected=candidate.selected,
        rule=rule_of(candidate),
        sentence=_sentence(candidate),
        recalled_by=[leg for leg, rank in ranks.items() if rank is not None],
        missed_by=[leg for leg, rank in ranks.items() if rank is None],
        token_count=candidate.token_count,
        excerpt=candidate.excerpt if excerpt else "",
        **numbers,
    )


def leg_ends(candidates: Sequence[Candidate]) -> dict[str, LegEnd]:
    """Return where the legs ended; one that recalled nothing is left out."""
    ends = {leg: leg_end(candidates, leg) for leg in ("bm25", "dense")}
    return {leg: LegEnd(rank=end[0], score=end[1]) for leg, end in ends.items() if end is not None}


def rule_of(candidate: Candidate) -> str | None:
    """Return the word of the selection rule that kept a candidate out."""
    word = enum_word(ExclusionReason.DESCRIPTOR, candidate.exclusion_reason)
    return None if word is None else str(word)


def found_outcome(asked: str, found: Sequence[Candidate]) -> ResourceOutcome:
    """Return what became of a resource or unit of which there are candidates, best first."""
    selected = [one for one in found if one.selected]
    best = selected[0] if selected else found[0]
    rule = rule_of(best)
    said = f"{len(selected)} of its {len(found)} candidates were returned. The best, {best.unit_key}: {_sentence(best)}"
    return ResourceOutcome(resource=asked, step=STEPS.get(rule or "", "excluded"), rule=rule, sentence=said, similar=[])


def unrecalled_unit(asked: str, siblings: Sequence[Candidate]) -> ResourceOutcome:
    """Return that a unit is no candidate although others of its resource are."""
    sentence = (
        "Neither leg recalled it, or no unit has this key. Units of its resource that were recalled are in `similar`."
    )
    keys = [one.unit_key for one in siblings]
    return ResourceOutcome(resource=asked, step="not_recalled", rule=None, sentence=sentence, similar=keys)


def unfound_outcome(asked: str, resource: Resource, ends: dict[str, LegEnd]) -> ResourceOutcome:
    """Return what became of a resource of the memory of which no unit is a candidate."""
    state = enum_word(ParseState.DESCRIPTOR, resource.parse_state)
    if state != "parsed":
        sentence = f"It is in the memory and not indexed: {UNPARSED.get(state, str(state))}."
        return ResourceOutcome(resource=asked, step="not_indexed", rule=None, sentence=sentence, similar=[])
    where = "; ".join(f"{leg} ended at rank {end.rank}, score {_shown(end.score)}" for leg, end in ends.items())
    sentence = f"It is in the memory and neither leg recalled a unit of it. {where or 'No leg recalled anything'}."
    return ResourceOutcome(resource=asked, step="not_recalled", rule=None, sentence=sentence, similar=[])


def absent_outcome(asked: str, similar: list[str]) -> ResourceOutcome:
    """Return that a resource was not in the Run's memory."""
    sentence = "No resource with this id or path was in the memory that the Run ranked."
    if similar:
        sentence += " One of `similar` may be meant: ask again with its id."
    return ResourceOutcome(resource=asked, step="not_in_memory", rule=None, sentence=sentence, similar=similar)


def _sentence(candidate: Candidate) -> str:
    place = f"final rank {candidate.final_rank}" if candidate.HasField("final_rank") else "no final rank"
    rule = rule_of(candidate)
    if rule is None:
        return f"Returned, at {place}."
    relevance = f" (relevance {candidate.relevance:.3f})" if rule == "below_relevance" else ""
    return f"Not returned, at {place}: {EXCLUSIONS.get(rule, rule)}{relevance}."


def _shown(score: float | None) -> str:
    return "unknown" if score is None else f"{score:.3f}"

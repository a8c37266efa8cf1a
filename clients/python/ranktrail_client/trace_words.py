"""What a trace says, in the words and by the rules that every client shows it with."""

from collections.abc import Sequence
from typing import Any

from ranktrail.trace.v1.trace_pb2 import Candidate

EXCLUSIONS = {
    "not_reranked": "past the reranker's depth",
    "fragment_limit": "enough fragments were selected before it",
    "below_relevance": "relevance below the profile's floor",
    "overlap": "overlaps a selected unit",
    "per_resource_limit": "its resource had its share already",
    "token_budget": "its tokens would have exceeded the budget",
    "run_failed": "the Run failed before it was decided",
}
"""Why a candidate was not selected, by the contract's word."""
UNPARSED: dict[str | int | None, str] = {
    "not_utf8": "its body is not UTF-8 text",
    "no_parser": "no parser handles its media type",
    "blank": "nothing in it but white space or front matter",
    None: "it had not been parsed yet: the index that ranked was older than the memory",
}
"""Why a resource of a memory was not indexed, by the contract's word; None stands for a state that is not said."""


def optional(message: Any, field: str) -> Any:
    """Return a field that may be absent, and None where it is."""
    return getattr(message, field) if message.HasField(field) else None


def leg_end(candidates: Sequence[Candidate], leg: str) -> tuple[int, float | None] | None:
    """Return the rank and score of the last unit that a leg let in, "bm25" or "dense"; None where it recalled nothing.

    A unit below it was not recalled by that leg.
    """
    ranked = [(rank, one) for one in candidates if (rank := optional(one, f"{leg}_rank")) is not None]
    if not ranked:
        return None
    rank, last = max(ranked, key=lambda pair: pair[0])
    return rank, optional(last, f"{leg}_score")

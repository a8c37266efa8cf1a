"""Stale Result: the ranking holds a resource as it was before."""

from collections.abc import Mapping, Sequence
from operator import ne

NAME = "stale_result"
CUTOFF = 20


def stale_result(
    resource_ids: Sequence[str], resource_digests: Sequence[str], corpus: Mapping[str, str]
) -> float | None:
    """Return the share of the first twenty of a ranking whose resource is in the corpus under another digest.

    `resource_digests` are the full-resource digests that the ranked units carry, `corpus` those of the frozen corpus.
    A resource that is absent there is not stale. None where the ranking is empty.
    """
    first = resource_ids[:CUTOFF]
    carried = resource_digests[:CUTOFF]
    frozen = map(corpus.get, first, carried)  # where a resource is absent, what its unit carries
    return sum(map(ne, frozen, carried)) / len(first) if first else None

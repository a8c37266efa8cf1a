"""Scope Violation: the ranking holds what the frozen corpus does not."""

from collections.abc import Mapping, Sequence

NAME = "scope_violation"
CUTOFF = 20


def scope_violation(resource_ids: Sequence[str], corpus: Mapping[str, str]) -> float | None:
    """Return the share of the first twenty of a ranking whose resource is absent from the corpus; None of an empty one.

    `corpus` maps the resource ids of the frozen corpus to their full-resource digests.
    """
    first = resource_ids[:CUTOFF]
    return (len(first) - sum(map(corpus.__contains__, first))) / len(first) if first else None

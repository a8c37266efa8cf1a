"""Resource Diversity: how many resources the first twenty come from."""

from collections.abc import Sequence

NAME = "resource_diversity"
CUTOFF = 20


def resource_diversity(resource_ids: Sequence[str]) -> float | None:
    """Return distinct resources / units of the first twenty of a ranking, given as resources; None of an empty one."""
    first = resource_ids[:CUTOFF]
    return len(set(first)) / len(first) if first else None

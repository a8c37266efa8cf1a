"""Recall: the share of what is relevant that the first twenty hold."""

from collections.abc import Sequence

NAME = "R@20"
CUTOFF = 20


def recall(relevances: Sequence[int | None], relevant_count: int) -> float | None:
    """Return R@20; `relevant_count` counts all relevant judgments, missed ones too. None where it is 0."""
    if not relevant_count:
        return None
    return sum(map(bool, relevances[:CUTOFF])) / relevant_count

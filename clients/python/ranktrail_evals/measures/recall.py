"""Recall: the share of what is relevant that the first twenty hold."""

from collections.abc import Sequence

NAME = "R@20"
CUTOFF = 20


def recall(relevances: Sequence[int | None], judged: Sequence[int]) -> float | None:
    """Return R@20; `judged` are the relevances of all judgments, missed ones too. None where none is relevant."""
    relevant = sum(map(bool, judged))
    return sum(map(bool, relevances[:CUTOFF])) / relevant if relevant else None

"""The share of the first ten that somebody judged: how much the other measures rest on."""

from collections.abc import Sequence

NAME = "Judged@10"
CUTOFF = 10


def judged_share(relevances: Sequence[int | None], judged: Sequence[int]) -> float | None:
    """Return Judged@10, of the units there are where they are fewer than ten, and 0 where there are none.

    None where the case has no judgments at all.
    """
    if not judged:
        return None
    first = relevances[:CUTOFF]
    return sum(one is not None for one in first) / len(first) if first else 0.0

"""The share of the first ten that somebody judged: how much the other measures rest on."""

from collections.abc import Sequence

NAME = "Judged@10"
CUTOFF = 10


def judged(relevances: Sequence[int | None], judgment_count: int) -> float | None:
    """Return Judged@10, of the units there are where they are fewer than ten, and 0 where there are none.

    None where the case has no judgments at all: `ir_measures` leaves such a query out, too.
    """
    if not judgment_count:
        return None
    first = relevances[:CUTOFF]
    return (len(first) - first.count(None)) / len(first) if first else 0.0

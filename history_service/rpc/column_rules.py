"""Checks of many values of one field at once.

A Run has hundreds of candidates with 32 fields each, and a check of each value by itself would take longer than storing
them all. Where a column does not pass, its first wrong value is named.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from history_service.domain.digest import DIGEST_CHARACTERS

_HEX_DIGITS = b"0123456789abcdef"

Column = Sequence[Any]


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """`passes` says whether a whole column is right; `problem` says what a column that does not pass needs."""

    passes: Callable[[Column], bool]
    problem: str
    limit: int | None = None


def text_rule(limit: int, required: bool = True) -> ColumnRule:
    """Text of at most `limit` bytes."""

    def passes(column: Column) -> bool:
        fits = max(map(len, column)) * 4 <= limit or max(len(text.encode("utf-8")) for text in column) <= limit
        return fits and (not required or all(column))

    return ColumnRule(passes, f"must have {1 if required else 0} to {limit} bytes", limit)


def character_rule(limit: int) -> ColumnRule:
    """Text of at most `limit` characters."""
    return ColumnRule(lambda column: max(map(len, column)) <= limit, f"must have at most {limit} characters", limit)


def are_digests(column: Column) -> bool:
    """Say whether every text is 64 lower-case hex digits."""
    rest = "".join(column).encode("utf-8").translate(None, _HEX_DIGITS)
    return not rest and set(map(len, column)) == {DIGEST_CHARACTERS}


DIGEST_RULE = ColumnRule(are_digests, "must be 64 lower-case hex digits")
WORD_RULE = ColumnRule(lambda column: "" not in column, "must be a value that this release knows")
COUNT_RULE = ColumnRule(lambda column: min(column) >= 0, "must be 0 or more")
# filter(None, …) leaves out what is absent, and zeros with it: finite, and no rank.
FINITE_RULE = ColumnRule(lambda column: all(map(math.isfinite, filter(None, column))), "must be a finite number")
RANK_RULE = ColumnRule(lambda column: 0 not in column and min(filter(None, column), default=1) > 0, "must be 1 or more")
PRIORITY_RULE = ColumnRule(frozenset({0, 1, 2, None}).issuperset, "must be 0, 1 or 2")


def first_wrong(rule: ColumnRule, column: Column) -> int | None:
    """Return the position of the first value that does not pass; None when all do."""
    if not column or rule.passes(column):
        return None
    return next((position for position, value in enumerate(column) if not rule.passes((value,))), 0)

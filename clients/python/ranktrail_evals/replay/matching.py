"""Which judgment each ranked unit takes, and what became of each relevant judgment."""

import sys
from collections.abc import Sequence

from ranktrail_evals.replay.following import Followed
from ranktrail_evals.replay.trace import RankedUnit, Trace

RETURNED = "returned"
NOT_RECALLED = "not_recalled"


class Matching:
    """The judgments of a case. A unit takes that of the unit, or else that of its resource; each is taken once."""

    def __init__(self, judgments: Sequence[Followed]) -> None:
        self._judgments = judgments
        self._numbers = {
            (one.judgment.resource_id, one.unit_key): number for number, one in enumerate(judgments) if one.is_there
        }

    def relevances(self, ranking: Sequence[RankedUnit]) -> list[int | None]:
        """Return the relevance of the judgment that each ranked unit takes, first rank first; None without one."""
        used: set[int] = set()
        found: list[int | None] = []
        for unit in ranking:
            number = next((one for one in self._choices(unit) if one not in used), None)
            found.append(None if number is None else self._judgments[number].judgment.relevance)
            used |= set() if number is None else {number}
        return found

    def fates(self, trace: Trace) -> dict[str, str]:
        """Return what became of each relevant judgment, by its name.

        `returned`, `not_recalled`, the word of the rule that kept it out, or, of a unit that is no more, `changed` or
        `gone`. A judgment of a whole resource has many units: the one that came furthest decides.
        """
        holders: dict[int, list[RankedUnit]] = {}
        for unit in trace.units:
            for number in self._choices(unit)[:1]:
                holders.setdefault(number, []).append(unit)
        return {
            one.judgment.name: _fate(holders.get(number, ())) if one.is_there else str(one.following)
            for number, one in enumerate(self._judgments)
            if one.judgment.relevance
        }

    def _choices(self, unit: RankedUnit) -> list[int]:
        keys = ((unit.resource_id, unit.unit_key), (unit.resource_id, None))
        return [self._numbers[key] for key in keys if key in self._numbers]


def _fate(units: Sequence[RankedUnit]) -> str:
    if not units:
        return NOT_RECALLED
    furthest = min(units, key=lambda unit: (not unit.selected, unit.final_rank or sys.maxsize))
    return furthest.exclusion_reason or RETURNED

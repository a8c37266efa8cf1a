"""Where judged units are today. A judgment is of bytes, so it follows their digest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ranktrail_evals.replay.fixture import FrozenCase, Judgment
from ranktrail_evals.replay.trace import RankedUnit, Trace


class Following(StrEnum):
    """What became of a judged unit."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Followed:
    """A judgment and the key of its unit now, None for a whole resource. What is changed or gone matches nothing."""

    judgment: Judgment
    unit_key: str | None
    following: Following = Following.SAME

    @property
    def is_there(self) -> bool:
        """Whether a unit can take it."""
        return self.following in {Following.SAME, Following.MOVED}


def as_judged(judgments: Iterable[Judgment]) -> list[Followed]:
    """Return judgments beside the units that they were made of."""
    return [Followed(one, one.unit_key) for one in judgments]


class CorpusUnits:
    """The units of a corpus now, as far as the queries of the set recalled them."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._digests: dict[str, str] = {}
        found: dict[tuple[str, str], list[RankedUnit]] = {}
        for unit in (unit for trace in traces for unit in trace.units):
            if unit.unit_key not in self._digests:
                self._digests[unit.unit_key] = unit.unit_digest
                found.setdefault((unit.resource_id, unit.unit_digest), []).append(unit)
        self._by_digest = {
            key: [unit.unit_key for unit in sorted(units, key=lambda unit: unit.start_byte)]
            for key, units in found.items()
        }

    def follow(self, case: FrozenCase, now: Trace) -> list[Followed]:
        """Return the case's judgments beside today's units.

        The bytes of a frozen corpus are what they were, so the same parsers and the same chunker make the same units.
        """
        if _cuts_alike(case.trace, now):
            return as_judged(case.judgments)
        digests = {unit.unit_key: unit.unit_digest for unit in case.trace.units}
        same = {one.unit_key for one in case.judgments if self._is_same(one, digests)}
        taken = set(same)
        followed = []
        for one in case.judgments:
            if one.unit_key in same:
                followed.append(Followed(one, one.unit_key))
            else:
                followed.append(self._moved(one, digests.get(one.unit_key or "", ""), taken))
        return followed

    def _is_same(self, judgment: Judgment, digests: dict[str, str]) -> bool:
        key = judgment.unit_key
        return key is None or self._digests.get(key, "") == digests.get(key)

    def _moved(self, judgment: Judgment, digest: str, taken: set[str | None]) -> Followed:
        places = self._by_digest.get((judgment.resource_id, digest), ())
        free = next((key for key in places if key not in taken), None)
        if free is not None:
            taken.add(free)
            return Followed(judgment, free, Following.MOVED)
        kept = judgment.unit_key in self._digests
        return Followed(judgment, judgment.unit_key, Following.CHANGED if kept else Following.GONE)


def _cuts_alike(before: Trace, now: Trace) -> bool:
    return all(before.revisions[name] == now.revisions[name] for name in ("parser_revision", "chunker_revision"))

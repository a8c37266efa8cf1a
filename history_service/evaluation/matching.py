"""Which judgment each ranked unit takes."""

from collections.abc import Mapping, Sequence

from history_service.domain.case import Judgment
from history_service.evaluation.fused_set import FusedSet


def judgment_id(judgment: Judgment) -> str:
    """Return what a judgment is of: its unit_key, or its resource_id where it is of the whole resource."""
    return judgment.resource_id if judgment.unit_key is None else judgment.unit_key


class Matching:
    """The judgments of a case beside the units of its fused recall set; rankings are matched one by one.

    A unit takes the judgment of that unit, or else that of its whole resource. Each judgment is taken once, so a
    further unit of a resource that was judged as a whole counts as unjudged.
    """

    def __init__(self, units: FusedSet, judgments: Sequence[Judgment]) -> None:
        numbers: dict[str, dict[str | None, int]] = {}
        for number, judgment in enumerate(judgments):
            numbers.setdefault(judgment.resource_id, {})[judgment.unit_key] = number
        self._units = units
        self._judgments = judgments
        # Places to numbers of judgments, best first; only of judged resources, which few units are of.
        self._choices = {
            place: _choices(numbers[resource_id], units.unit_keys[place])
            for place, resource_id in enumerate(units.resource_ids)
            if resource_id in numbers
        }

    def relevances(self, ranking: Sequence[int]) -> list[int | None]:
        """Return the relevance of the judgment that each ranked unit takes, first rank first; None without one."""
        relevances: list[int | None] = [None] * len(ranking)
        for at, judgment in self._taken(ranking):
            relevances[at] = judgment.relevance
        return relevances

    def docnos(self, ranking: Sequence[int]) -> list[str]:
        """Return the names of ranked units in TREC files: the id of the judgment that each takes, else its unit_key.

        Measures over these names, with `judgment_id` in the qrels, are those of this benchmark.
        """
        docnos = [self._units.unit_keys[place] for place in ranking]
        for at, judgment in self._taken(ranking):
            docnos[at] = judgment_id(judgment)
        return docnos

    def holders(self) -> list[list[int]]:
        """Return for each judgment the places of its units: one of a whole resource has those without their own."""
        holders: list[list[int]] = [[] for _ in self._judgments]
        for place, choices in self._choices.items():
            if choices:
                holders[choices[0]].append(place)
        return holders

    def _taken(self, ranking: Sequence[int]) -> list[tuple[int, Judgment]]:
        """Return where in a ranking judgments are taken, and which."""
        choices, taken, used = self._choices, [], set()
        for at in [at for at, place in enumerate(ranking) if place in choices]:
            for number in choices[ranking[at]]:
                if number not in used:
                    used.add(number)
                    taken.append((at, self._judgments[number]))
                    break
        return taken


def _choices(numbers: Mapping[str | None, int], unit_key: str) -> list[int]:
    return [numbers[key] for key in (unit_key, None) if key in numbers]

"""Selection under a budget: the first rule that keeps a candidate out is its reason."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ranker_service.domain.candidate import ExclusionReason
from ranker_service.domain.profile import SelectionSettings
from ranker_service.domain.unit import Unit


class Contender(NamedTuple):
    """A unit in final order.

    `past_depth` says that the Run reranked and that this unit stood past the reranker's depth; `relevance` is absent
    where no reranker saw it.
    """

    unit: Unit
    past_depth: bool
    relevance: float | None


def select(contenders: Sequence[Contender], limits: SelectionSettings) -> tuple[ExclusionReason | None, ...]:
    """Walk the final order and return for each contender why it is kept out, None where it is selected.

    The tokens selected never exceed the budget; the walk goes on after a unit that would, since a smaller one may fit.
    """
    walk = _Walk(limits)
    return tuple(walk.judge(contender) for contender in contenders)


@dataclass(slots=True)
class _Walk:
    limits: SelectionSettings
    selected: list[Unit] = field(default_factory=list)
    token_count: int = 0
    per_resource: Counter[str] = field(default_factory=Counter)

    def judge(self, contender: Contender) -> ExclusionReason | None:
        reason = self._first_rule(contender)
        if reason is None:
            self.selected.append(contender.unit)
            self.token_count += contender.unit.token_count
            self.per_resource[contender.unit.resource.resource_id] += 1
        return reason

    def _first_rule(self, contender: Contender) -> ExclusionReason | None:  # noqa: PLR0911 - one return a rule
        unit, limits = contender.unit, self.limits
        if contender.past_depth:
            return ExclusionReason.NOT_RERANKED
        if len(self.selected) >= limits.max_fragments:
            return ExclusionReason.FRAGMENT_LIMIT
        if contender.relevance is not None and contender.relevance < limits.relevance_floor:
            return ExclusionReason.BELOW_RELEVANCE
        if any(_intersect(unit, other) for other in self.selected):
            return ExclusionReason.OVERLAP
        if self.per_resource[unit.resource.resource_id] >= limits.per_resource_limit:
            return ExclusionReason.PER_RESOURCE_LIMIT
        if self.token_count + unit.token_count > limits.token_budget:
            return ExclusionReason.TOKEN_BUDGET
        return None


def _intersect(a: Unit, b: Unit) -> bool:
    same = a.resource.resource_id == b.resource.resource_id
    return same and a.start_byte < b.end_byte and b.start_byte < a.end_byte

"""Delta: what changes for a caller who already knows some units."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ranker_service.domain.activation import MAX_EPOCH, ActivationState
from ranker_service.domain.candidate import DeltaAction
from ranker_service.domain.unit import Unit


@dataclass(frozen=True, slots=True)
class Delta:
    """An action for each selected unit, the keys of known units that are gone, ascending, and the state from now on."""

    actions: tuple[DeltaAction, ...]
    removed: tuple[str, ...]
    next_state: ActivationState


def apply(state: ActivationState, selected: Sequence[Unit], is_indexed: Callable[[str], bool]) -> Delta:
    """Compare the selected units, in final order, with those that the caller knows.

    A known unit is gone when the index that ranked does not hold its key. The next state keeps the other known units,
    with the digests that the caller has, then the selected ones, best last: they are forgotten in this order.
    """
    removed = sorted(unit_key for unit_key in state.known if not is_indexed(unit_key))
    returned = {unit.unit_key: unit.digest for unit in reversed(selected)}
    gone = returned.keys() | set(removed)
    kept = {unit_key: digest for unit_key, digest in state.known.items() if unit_key not in gone}
    next_state = ActivationState(min(state.epoch + 1, MAX_EPOCH), kept | returned)
    return Delta(tuple(_action(state, unit) for unit in selected), tuple(removed), next_state)


def _action(state: ActivationState, unit: Unit) -> DeltaAction:
    known = state.known.get(unit.unit_key)
    if known is None:
        return DeltaAction.ADD
    return DeltaAction.REUSE if known == unit.digest else DeltaAction.REPLACE

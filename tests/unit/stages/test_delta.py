"""Delta: what a caller is told to do with each unit, and what it is taken to know afterwards."""

from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.activation import MAX_EPOCH, ActivationState
from ranker_service.domain.candidate import DeltaAction
from ranker_service.domain.digest import digest_of
from ranker_service.domain.unit import Unit
from ranker_service.stages import delta
from tests.builders import a_unit

OLD = digest_of(b"old")


def _unit(key: str, content: bytes = b"new") -> Unit:
    return a_unit(unit_key=key, digest=digest_of(content))


def test_unknown_is_added_changed_is_replaced_and_same_is_reused() -> None:
    state = ActivationState(3, {"changed": OLD, "same": digest_of(b"new")})
    change = delta.apply(state, [_unit("unknown"), _unit("changed"), _unit("same")], lambda _: True)
    assert change.actions == (DeltaAction.ADD, DeltaAction.REPLACE, DeltaAction.REUSE)
    assert change.removed == ()


def test_known_units_that_the_index_does_not_hold_are_removed_in_order_and_forgotten() -> None:
    state = ActivationState(1, {"z": OLD, "kept": OLD, "b": OLD})
    change = delta.apply(state, [], lambda key: key == "kept")
    assert change.removed == ("b", "z")
    assert change.next_state == ActivationState(2, {"kept": OLD})


def test_a_known_unit_that_was_not_returned_keeps_the_digest_that_the_caller_has() -> None:
    change = delta.apply(ActivationState(0, {"a": OLD}), [_unit("b")], lambda _: True)
    assert change.next_state.known == {"a": OLD, "b": digest_of(b"new")}


def test_what_was_returned_last_and_best_is_forgotten_last() -> None:
    state = ActivationState(0, {"again": OLD, "other": OLD})
    change = delta.apply(state, [_unit("best"), _unit("again")], lambda _: True)
    assert list(change.next_state.known) == ["other", "again", "best"]


def test_a_second_reply_reuses_what_the_first_one_added() -> None:
    selected = [_unit("a"), _unit("b")]
    first = delta.apply(ActivationState(), selected, lambda _: True)
    second = delta.apply(ActivationState.decode(first.next_state.encode()), selected, lambda _: True)
    assert second.actions == (DeltaAction.REUSE, DeltaAction.REUSE)
    assert second.next_state.epoch == 2


def test_the_epoch_stays_within_what_a_state_can_hold() -> None:
    change = delta.apply(ActivationState(MAX_EPOCH, {}), [], lambda _: True)
    assert ActivationState.decode(change.next_state.encode()).epoch == MAX_EPOCH


_KEYS = st.text("abcdef", min_size=1, max_size=2)


@given(
    st.dictionaries(_KEYS, st.sampled_from([b"1", b"2"])),
    st.dictionaries(_KEYS, st.sampled_from([b"1", b"2"])),
    st.sets(_KEYS),
)
def test_a_caller_who_does_as_told_knows_what_the_next_state_says(
    known: dict[str, bytes], returned: dict[str, bytes], elsewhere: set[str]
) -> None:
    indexed = set(returned) | elsewhere
    state = ActivationState(0, {key: digest_of(content) for key, content in known.items()})
    selected = [_unit(key, content) for key, content in returned.items()]
    change = delta.apply(state, selected, indexed.__contains__)
    copy = dict(state.known)
    for unit, action in zip(selected, change.actions, strict=True):
        assert (unit.unit_key in copy) == (action is not DeltaAction.ADD)
        if action is not DeltaAction.REUSE:
            copy[unit.unit_key] = unit.digest
        assert copy[unit.unit_key] == unit.digest
    for key in change.removed:
        del copy[key]
    assert copy == change.next_state.known

"""Selection: each rule alone, their order, and agreement with a restatement of the rules."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.candidate import ExclusionReason
from ranker_service.domain.profile import SelectionSettings
from ranker_service.stages.selection import Contender, select
from tests.builders import a_unit

LIMITS = SelectionSettings(max_fragments=12, token_budget=2_400, per_resource_limit=2, relevance_floor=0.05)


def _contender(
    resource_id: str = "a",
    span: tuple[int, int] = (0, 10),
    tokens: int = 10,
    relevance: float | None = 0.9,
    *,
    past_depth: bool = False,
) -> Contender:
    return Contender(a_unit(resource_id, span, tokens), past_depth, relevance)


def test_a_unit_past_the_depth_is_not_reranked_whatever_else_is_wrong_with_it() -> None:
    limits = replace(LIMITS, max_fragments=1, token_budget=10)
    reasons = select([_contender(), _contender(tokens=99, relevance=None, past_depth=True)], limits)
    assert reasons == (None, ExclusionReason.NOT_RERANKED)


def test_no_more_fragments_than_allowed() -> None:
    reasons = select([_contender(str(n)) for n in range(4)], replace(LIMITS, max_fragments=3))
    assert reasons == (None, None, None, ExclusionReason.FRAGMENT_LIMIT)


def test_relevance_below_the_floor_keeps_out_and_at_the_floor_does_not() -> None:
    below, at = 0.05 - 1e-9, 0.05
    assert select([_contender(relevance=below), _contender(relevance=at)], LIMITS) == (
        ExclusionReason.BELOW_RELEVANCE,
        None,
    )


def test_without_a_reranker_there_is_no_floor() -> None:
    assert select([_contender(relevance=None)], replace(LIMITS, relevance_floor=1.0)) == (None,)


def test_bytes_that_intersect_a_selected_unit_of_the_same_resource_keep_out() -> None:
    contenders = [_contender(span=(10, 20)), _contender(span=(19, 30)), _contender(span=(20, 30)), _contender("b")]
    assert select(contenders, LIMITS) == (None, ExclusionReason.OVERLAP, None, None)


def test_what_was_kept_out_overlaps_with_nothing() -> None:
    contenders = [_contender(span=(0, 10), relevance=0.0), _contender(span=(5, 15))]
    assert select(contenders, LIMITS) == (ExclusionReason.BELOW_RELEVANCE, None)


def test_a_resource_gives_no_more_units_than_allowed() -> None:
    contenders = [_contender(span=(n, n + 1)) for n in range(3)]
    assert select(contenders, LIMITS) == (None, None, ExclusionReason.PER_RESOURCE_LIMIT)


def test_the_walk_goes_on_after_a_unit_that_exceeds_the_budget() -> None:
    contenders = [_contender("a", tokens=60), _contender("b", tokens=41), _contender("c", tokens=40)]
    assert select(contenders, replace(LIMITS, token_budget=100)) == (None, ExclusionReason.TOKEN_BUDGET, None)


def _restated(contenders: list[Contender], limits: SelectionSettings) -> list[ExclusionReason | None]:
    """Apply the rules, each over every contender selected before, with nothing kept between steps."""
    reasons: list[ExclusionReason | None] = []
    for place, (unit, past_depth, relevance) in enumerate((c.unit, c.past_depth, c.relevance) for c in contenders):
        chosen = [contenders[i].unit for i in range(place) if reasons[i] is None]
        same = [other for other in chosen if other.resource.resource_id == unit.resource.resource_id]
        bytes_of = set(range(unit.start_byte, unit.end_byte))
        rules = {
            ExclusionReason.NOT_RERANKED: past_depth,
            ExclusionReason.FRAGMENT_LIMIT: len(chosen) == limits.max_fragments,
            ExclusionReason.BELOW_RELEVANCE: relevance is not None and relevance < limits.relevance_floor,
            ExclusionReason.OVERLAP: any(bytes_of & set(range(o.start_byte, o.end_byte)) for o in same),
            ExclusionReason.PER_RESOURCE_LIMIT: len(same) == limits.per_resource_limit,
            ExclusionReason.TOKEN_BUDGET: sum(o.token_count for o in [*chosen, unit]) > limits.token_budget,
        }
        reasons.append(next((reason for reason, applies in rules.items() if applies), None))
    return reasons


_CONTENDERS = st.builds(
    lambda resource_id, start, size, tokens, relevance, past_depth: _contender(
        resource_id, (start, start + size), tokens, relevance, past_depth=past_depth
    ),
    st.sampled_from("abc"),
    st.integers(0, 30),
    st.integers(1, 15),
    st.integers(0, 40),
    st.one_of(st.none(), st.floats(0, 1)),
    st.booleans(),
)
_LIMITS = st.builds(SelectionSettings, st.integers(1, 6), st.integers(1, 120), st.integers(1, 3), st.floats(0, 1))


@given(st.lists(_CONTENDERS, max_size=20), _LIMITS)
def test_every_contender_is_selected_or_has_the_first_reason_that_applies(
    contenders: list[Contender], limits: SelectionSettings
) -> None:
    reasons = select(contenders, limits)
    assert list(reasons) == _restated(contenders, limits)
    chosen = [contender.unit for contender, reason in zip(contenders, reasons, strict=True) if reason is None]
    assert sum(unit.token_count for unit in chosen) <= limits.token_budget
    assert len(chosen) <= limits.max_fragments

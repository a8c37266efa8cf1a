"""Resource Diversity, Scope Violation, Stale Result and Judged@10."""

import pytest

from history_service.evaluation.fused_set import RankedUnit
from tests.unit.evaluation.cases import a_case, ranked, values

TWENTY = [f"R{number:02d}#1" for number in range(20)]


def _corpus(units: list[RankedUnit], absent: int = 0, stale: int = 0) -> dict[str, str]:
    """A corpus without the first resources and with others of another digest after them."""
    held = {unit.resource_id: unit.resource_digest for unit in units[absent:]}
    return held | {unit.resource_id: "another digest" for unit in units[absent : absent + stale]}


@pytest.mark.parametrize(("absent", "stale"), [(0, 0), (3, 0), (0, 7), (3, 7), (20, 0), (0, 20), (1, 19)])
def test_absent_and_stale_resources_are_counted_apart(absent: int, stale: int) -> None:
    units = ranked(*TWENTY)
    found = values(a_case(units, corpus=_corpus(units, absent, stale)))
    assert (found["scope_violation"], found["stale_result"]) == (absent / 20, stale / 20)


def test_only_the_first_twenty_are_looked_at() -> None:
    units = ranked(*TWENTY, "R00#2", "Z#1", "Z#2")
    found = values(a_case(units, corpus=_corpus(units[:20])))
    assert (found["resource_diversity"], found["scope_violation"], found["stale_result"]) == (20 / 20, 0.0, 0.0)


def test_shares_are_of_the_units_there_are_where_these_are_fewer() -> None:
    units = ranked("A#1", "A#2", "B#1")
    found = values(a_case(units, corpus={"A": "another digest"}))
    assert found["resource_diversity"] == 2 / 3
    assert found["scope_violation"] == 1 / 3
    assert found["stale_result"] == 2 / 3


def test_an_empty_ranking_has_no_shares_of_resources() -> None:
    found = values(a_case([], {"A": 1}, corpus={"A": "digest"}))
    assert [found[name] for name in ("resource_diversity", "scope_violation", "stale_result")] == [None] * 3


def test_judged_counts_irrelevant_judgments_and_not_what_stands_past_the_tenth() -> None:
    assert values(a_case(ranked(*TWENTY), {"R00": 0, "R09#1": 2, "R10": 3}))["Judged@10"] == 2 / 10


def test_judged_is_a_share_of_the_units_there_are() -> None:
    assert values(a_case(ranked("A#1", "A#2", "B#1"), {"A": 1}))["Judged@10"] == 1 / 3


def test_judged_is_undefined_for_a_case_nobody_judged_and_zero_for_a_judged_one_without_a_ranking() -> None:
    assert values(a_case(ranked("A#1")))["Judged@10"] is None
    assert values(a_case([]))["Judged@10"] is None
    assert values(a_case([], {"A": 0}))["Judged@10"] == 0.0

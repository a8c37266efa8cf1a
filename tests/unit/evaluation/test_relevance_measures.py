"""R@20, nDCG@10 and RR of small rankings whose values can be written down."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.evaluation.measures import ndcg
from history_service.evaluation.report import benchmark_report
from tests.unit.evaluation.cases import a_case, measured, ranked, values

RELEVANCES = st.lists(st.none() | st.integers(0, 3), max_size=15)


def test_the_ideal_counts_what_was_missed() -> None:
    found = values(a_case(ranked("B#1", "X#1", "A#1"), {"A": 3, "B": 2, "C": 1, "D": 3}))
    gained = 3 / log2(2) + 7 / log2(4)
    ideal = 7 / log2(2) + 7 / log2(3) + 3 / log2(4) + 1 / log2(5)
    assert found["nDCG@10"] == pytest.approx(gained / ideal, abs=1e-12)
    assert found["nDCG@10"] == pytest.approx(0.486994, abs=1e-6)
    assert found["R@20"] == 2 / 4
    assert found["RR"] == 1 / 1


def test_the_ideal_is_cut_at_ten_like_the_ranking() -> None:
    names = [f"R{number:02d}" for number in range(15)]
    found = values(a_case(ranked(*(f"{name}#1" for name in names)), dict.fromkeys(names, 1)))
    assert found["nDCG@10"] == 1.0


def test_recall_counts_all_that_is_relevant_and_not_only_what_twenty_can_hold() -> None:
    names = [f"R{number:02d}" for number in range(25)]
    found = values(a_case(ranked(*(f"{name}#1" for name in names)), dict.fromkeys(names, 1)))
    assert found["R@20"] == 20 / 25


def test_recall_and_ndcg_do_not_look_past_their_cutoffs_and_rr_does() -> None:
    units = ranked(*(f"X{number}#1" for number in range(10)), "A#1")
    found = values(a_case(units, {"A": 3}))
    assert (found["R@20"], found["nDCG@10"], found["RR"]) == (1.0, 0.0, 1 / 11)
    units = ranked(*(f"X{number}#1" for number in range(20)), "A#1")
    found = values(a_case(units, {"A": 3}))
    assert (found["R@20"], found["nDCG@10"], found["RR"]) == (0.0, 0.0, 1 / 21)


def test_the_twentieth_and_the_tenth_are_within_their_cutoffs() -> None:
    units = ranked(*(f"X{number}#1" for number in range(9)), "A#1", *(f"Y{number}#1" for number in range(9)), "B#1")
    found = values(a_case(units, {"A": 1, "B": 1}))
    assert found["R@20"] == 2 / 2
    assert found["nDCG@10"] == pytest.approx((1 / log2(11)) / (1 / log2(2) + 1 / log2(3)), abs=1e-12)


@pytest.mark.parametrize("judged", [{"A": 1}, {"A#1": 1}, {"A#2": 1}])
def test_two_units_of_a_resource_do_not_count_one_judgment_twice(judged: dict[str, int]) -> None:
    found = values(a_case(ranked("A#1", "A#2"), judged))
    assert found["R@20"] == 1 / 1
    assert found["nDCG@10"] == pytest.approx(1.0 if "A#2" not in judged else 1 / log2(3), abs=1e-12)


def test_a_second_unit_does_not_stand_in_for_another_resource() -> None:
    found = values(a_case(ranked("A#1", "A#2"), {"A": 1, "B": 1}))
    assert found["R@20"] == 1 / 2
    assert found["nDCG@10"] == pytest.approx(1 / (1 + 1 / log2(3)), abs=1e-12)


@pytest.mark.parametrize("judgments", [{}, {"A": 0}, {"A": 0, "A#1": 0, "B": 0}])
def test_a_case_without_relevant_judgments_has_no_relevance_measures(judgments: dict[str, int]) -> None:
    for units in (ranked("A#1", "A#2"), []):
        found = measured(a_case(units, judgments))
        for measure in ("R@20", "nDCG@10", "RR"):
            assert (found[measure].value, found[measure].low, found[measure].high) == (None, None, None)


def test_an_undefined_case_is_left_out_of_the_means_and_an_empty_ranking_is_not() -> None:
    perfect = a_case(ranked("A#1"), {"A": 3}, case_id="perfect")
    undefined = a_case(ranked("A#1"), {"A": 0}, case_id="undefined")
    empty = a_case([], {"A": 3}, case_id="empty")
    for cases, mean, scored, total in (
        ([perfect, undefined], 1.0, 1, 2),
        ([perfect, undefined, empty], (1 + 0) / 2, 2, 3),
        ([undefined], None, 0, 1),
        ([], None, 0, 0),
    ):
        for variant in benchmark_report(cases, with_comparisons=False).variants:
            for measure in variant.measures[:3]:
                assert (measure.mean, measure.scored, measure.total) == (mean, scored, total)
                assert (measure.low, measure.high) == ((mean, mean) if measure.measure == "nDCG@10" else (None, None))


def test_a_judged_case_with_an_empty_ranking_scores_zero() -> None:
    found = values(a_case([], {"A": 1}))
    assert (found["R@20"], found["nDCG@10"], found["RR"]) == (0.0, 0.0, 0.0)


def test_the_bounds_of_ndcg_take_the_unjudged_for_irrelevant_and_for_answers() -> None:
    value = measured(a_case(ranked("X#1", "B#1", "A#1"), {"A": 3, "B": 2, "C": 3, "D": 3}))["nDCG@10"]
    ideal = 7 + 7 / log2(3) + 7 / log2(4) + 3 / log2(5)
    assert value.low == value.value == pytest.approx((3 / log2(3) + 7 / log2(4)) / ideal, abs=1e-12)
    assert value.high == pytest.approx((7 / log2(2) + 3 / log2(3) + 7 / log2(4)) / ideal, abs=1e-12)


def test_the_high_bound_is_at_most_one_and_without_unjudged_units_it_is_the_value() -> None:
    assert measured(a_case(ranked("X#1", "A#1"), {"A": 1}))["nDCG@10"].high == 1.0
    judged = measured(a_case(ranked("B#1", "A#1"), {"A": 1, "B": 0}))["nDCG@10"]
    assert judged.high == judged.value == pytest.approx(1 / log2(3), abs=1e-12)


@given(RELEVANCES, st.lists(st.integers(0, 3), max_size=6), st.data())
def test_whatever_the_unjudged_are_worth_ndcg_stays_under_the_high_bound(
    relevances: list[int | None], missed: list[int], data: st.DataObject
) -> None:
    judged = [relevance for relevance in relevances if relevance is not None] + missed
    ideal = ndcg.ideal_dcg(judged)
    value, high = ndcg.ndcg(relevances, ideal), ndcg.highest_ndcg(relevances, ideal)
    if value is None or high is None:
        assert not any(judged)
        return
    assert 0 <= value <= high <= 1
    found_out = [data.draw(st.integers(0, 3)) if relevance is None else relevance for relevance in relevances]
    later = ndcg.ndcg(found_out, ndcg.ideal_dcg([*found_out, *missed]))
    assert later is not None
    assert later <= high + 1e-12

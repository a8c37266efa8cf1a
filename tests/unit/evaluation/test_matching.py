"""Which judgment a ranked unit takes."""

from history_service.evaluation.fused_set import FusedSet
from history_service.evaluation.matching import Matching
from tests.unit.evaluation.cases import a_judgment, ranked


def _taken(units: list[str], judgments: dict[str, int]) -> tuple[list[int | None], list[str]]:
    fused = FusedSet.of(ranked(*units))
    matching = Matching(fused, [a_judgment(of, relevance) for of, relevance in judgments.items()])
    ranking = list(range(len(units)))
    return matching.relevances(ranking), matching.docnos(ranking)


def test_the_judgment_of_a_unit_comes_before_that_of_its_resource() -> None:
    assert _taken(["A#1", "A#2"], {"A": 3, "A#1": 0}) == ([0, 3], ["A#1", "A"])
    assert _taken(["A#2", "A#1"], {"A": 3, "A#1": 0}) == ([3, 0], ["A", "A#1"])


def test_the_first_unit_without_its_own_judgment_takes_that_of_the_resource_and_the_next_none() -> None:
    assert _taken(["B#1", "A#3", "A#1", "A#2"], {"A": 2}) == ([None, 2, None, None], ["B#1", "A", "A#1", "A#2"])


def test_a_judgment_of_another_unit_is_not_taken() -> None:
    assert _taken(["A#1"], {"A#2": 3}) == ([None], ["A#1"])


def test_a_unit_of_a_judged_name_in_another_resource_takes_nothing() -> None:
    assert _taken(["AB#1"], {"A": 3, "A#1": 3}) == ([None], ["AB#1"])


def test_irrelevant_judgments_are_taken_too() -> None:
    assert _taken(["A#1", "A#2"], {"A": 0}) == ([0, None], ["A", "A#2"])


def test_each_ranking_is_matched_afresh() -> None:
    fused = FusedSet.of(ranked("A#1", "A#2"))
    matching = Matching(fused, [a_judgment("A", 2)])
    assert [matching.docnos(order) for order in ([0, 1], [1, 0], [0, 1])] == [["A", "A#2"], ["A", "A#1"], ["A", "A#2"]]


def test_nothing_ranked_takes_nothing() -> None:
    assert _taken([], {"A": 1}) == ([], [])

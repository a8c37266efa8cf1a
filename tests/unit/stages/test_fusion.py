"""Reciprocal rank fusion: values, ties, and agreement with exact fractions."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.stages.fusion import reciprocal_rank_fusion

K = 60


def _scores(*lists: list[int], k: int = K) -> dict[int, float]:
    return {unit.row: unit.score for unit in reciprocal_rank_fusion(lists, k)}


def _at_ranks(*ranks: tuple[int, int]) -> list[list[int]]:
    """Two lists in which row i stands at ranks[i], filled up with rows of their own."""
    lists = [[1_000 * (leg + 1) + rank for rank in range(1, 101)] for leg in range(2)]
    for row, places in enumerate(ranks):
        for leg, rank in enumerate(places):
            lists[leg][rank - 1] = row
    return lists


def _exact_order(lists: list[list[int]], k: int) -> list[int]:
    places = {row: [rows.index(row) + 1 for rows in lists if row in rows] for rows in lists for row in rows}
    sums = {row: sum(Fraction(1, k + rank) for rank in ranks) for row, ranks in places.items()}
    return sorted(sums, key=lambda row: (-sums[row], min(places[row]), row))


def test_ranks_are_one_based_and_absence_adds_nothing() -> None:
    x, a, b, c, y = range(5)
    scores = _scores([x, a, y], [b, c, y])
    assert scores[y] == pytest.approx(1 / 63 + 1 / 63)
    assert scores[x] == scores[b] == pytest.approx(1 / 61)
    assert scores[a] == scores[c] == pytest.approx(1 / 62)
    assert list(scores) == [y, x, b, a, c]


def test_a_zero_based_rank_would_flip_this_order() -> None:
    p, q = 0, 1
    scores = _scores(*_at_ranks((1, 20), (5, 14)))
    assert scores[p] == pytest.approx(1 / 61 + 1 / 80)
    assert scores[q] == pytest.approx(1 / 65 + 1 / 74)
    assert list(scores).index(q) < list(scores).index(p)


@pytest.mark.parametrize(("best", "other"), [((3, 45), (10, 30)), ((30, 50), (39, 39)), ((6, 39), (12, 28))])
def test_sums_that_are_equal_as_fractions_tie_and_the_best_single_rank_decides(
    best: tuple[int, int], other: tuple[int, int]
) -> None:
    assert sum(Fraction(1, K + rank) for rank in best) == sum(Fraction(1, K + rank) for rank in other)
    order = list(_scores(*_at_ranks(best, other)))
    assert order.index(0) < order.index(1)
    order = list(_scores(*_at_ranks(other, best)))
    assert order.index(1) < order.index(0)


def test_float_noise_alone_would_have_split_a_tie_the_wrong_way() -> None:
    assert Fraction(1, 90) + Fraction(1, 110) == Fraction(1, 99) + Fraction(1, 99)
    assert 1 / 90 + 1 / 110 < 1 / 99 + 1 / 99


def test_a_tie_of_equal_best_ranks_goes_to_the_lower_row() -> None:
    assert list(_scores([7, 3], [3, 7])) == [3, 7]
    assert list(_scores([7], [3])) == [3, 7]


def test_no_lists_and_empty_lists_fuse_to_nothing() -> None:
    assert reciprocal_rank_fusion([], K) == ()
    assert reciprocal_rank_fusion([[], []], K) == ()


def test_the_input_lists_stay_as_they_are() -> None:
    lists = [[3, 1], [1, 2]]
    reciprocal_rank_fusion(lists, K)
    assert lists == [[3, 1], [1, 2]]


def test_every_pair_of_ranks_orders_as_exact_fractions_do() -> None:
    """Rounding neither splits a true tie nor makes a false one, whatever ranks two legs of 60 give."""
    ranks = [None, *range(1, 61)]
    pairs = [(a, b) for a in ranks for b in ranks if a or b]
    floats = [round(sum(1.0 / (K + rank) for rank in pair if rank), 12) for pair in pairs]
    fractions = [sum(Fraction(1, K + rank) for rank in pair if rank) for pair in pairs]
    assert len(set(floats)) == len(set(fractions)) == len(set(zip(floats, fractions, strict=True)))
    assert sorted(range(len(pairs)), key=floats.__getitem__) == sorted(range(len(pairs)), key=fractions.__getitem__)


@given(
    st.lists(st.lists(st.integers(0, 40), unique=True, max_size=40), min_size=1, max_size=2),
    st.integers(1, 100),
)
def test_the_order_is_that_of_exact_fractions(lists: list[list[int]], k: int) -> None:
    assert [unit.row for unit in reciprocal_rank_fusion(lists, k)] == _exact_order(lists, k)

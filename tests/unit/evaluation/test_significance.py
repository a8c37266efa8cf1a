"""Intervals and p values of paired differences."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from history_service.evaluation.significance import bootstrap_intervals, holm, lowest_p, sign_flip_p

P_VALUES = st.lists(st.floats(0, 1), max_size=8)


def _by_hand(differences: list[float]) -> float:
    """Every sign flip, one by one."""
    sums = [abs(sum(map(float.__mul__, differences, signs))) for signs in product((1.0, -1.0), repeat=len(differences))]
    return sum(value >= abs(sum(differences)) - 1e-9 for value in sums) / len(sums)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([-0.5, -0.25, -0.125, 0.125, 0.25, 0.5, 1.0]), min_size=2, max_size=8))
def test_few_cases_are_tested_exactly(differences: list[float]) -> None:
    assert sign_flip_p(np.array(differences)) == pytest.approx(min(1.0, _by_hand(differences)), abs=1e-12)


@pytest.mark.parametrize("count", [2, 5, 6, 13])
def test_cases_that_all_go_one_way_have_the_lowest_p(count: int) -> None:
    assert sign_flip_p(np.linspace(0.1, 0.2, count)) == lowest_p(count) == 2 / 2**count


def test_five_non_tied_cases_cannot_reach_one_in_twenty_and_six_can() -> None:
    assert lowest_p(5) > 0.05 >= lowest_p(6)


def test_many_cases_are_tested_by_resampling_which_comes_near_the_exact_value() -> None:
    differences = np.array([0.3, 0.1, 0.2, -0.1, 0.4, 0.1, -0.2, 0.2, 0.3, 0.1, -0.3, 0.2, 0.1, -0.1])
    assert sign_flip_p(differences) == pytest.approx(_by_hand(differences.tolist()), abs=0.01)


def test_a_difference_that_no_resample_reaches_has_a_small_p_and_never_zero() -> None:
    assert sign_flip_p(np.full(200, 0.1)) == pytest.approx(2 / 10_000)


def test_the_same_differences_give_the_same_figures() -> None:
    differences = np.random.default_rng(1).normal(0.05, 0.2, 40)
    assert sign_flip_p(differences) == sign_flip_p(differences)
    first, second = (bootstrap_intervals(differences[None, :]) for _ in range(2))
    assert (first[0], first[1]) == (second[0], second[1])


def test_the_interval_is_that_of_the_mean() -> None:
    differences = np.random.default_rng(2).normal(0.05, 0.2, (2, 400))
    lows, highs = bootstrap_intervals(differences)
    error = 1.96 * differences.std(axis=1, ddof=1) / np.sqrt(400)
    assert np.abs(lows - (differences.mean(axis=1) - error)).max() < 0.002
    assert np.abs(highs - (differences.mean(axis=1) + error)).max() < 0.002


def test_holm_multiplies_the_smallest_by_the_family_and_never_falls() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([3 * 0.01, 2 * 0.03, 2 * 0.03, 4 * 0.005])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


@given(P_VALUES)
def test_holm_corrects_upwards_and_keeps_the_order(p_values: list[float]) -> None:
    corrected = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, corrected, strict=True))
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert [corrected[index] for index in order] == sorted(corrected)

"""Hidden states to vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ranker_service.models.pooling import mean_pool, quantised, unit_length, unit_rows

NUMBERS = st.one_of(st.just(0.0), st.floats(0.0009765625, 100, width=32), st.floats(-100, -0.0009765625, width=32))
MATRICES = arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 40)), elements=NUMBERS)


def test_the_mean_is_taken_over_the_tokens_under_the_mask_alone() -> None:
    states = np.array([[1, 0], [1, 0], [0, 2], [0, 2]], np.float32)
    assert mean_pool(states, np.array([True, True, False, False])).tolist() == [1, 0]
    assert mean_pool(states, np.ones(4, np.bool_)).tolist() == [0.5, 1.0]


def test_a_vector_without_a_direction_is_refused() -> None:
    for vector in ([0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="length"):
            unit_length(np.array(vector, np.float32))


@settings(deadline=None)
@given(MATRICES)
def test_quantised_rows_are_within_half_a_step_and_the_scales_rounding(states: NDArray[np.float32]) -> None:
    rows = unit_rows(states)
    kept = quantised(rows)
    scales = kept.scales.astype(np.float32)[:, None]
    error = np.abs(kept.values.astype(np.float32) * scales - rows)
    assert np.all(error <= scales / 2 + np.abs(rows) * 2**-11 + 1e-7)


@settings(deadline=None)
@given(MATRICES)
def test_a_row_is_quantised_the_same_whatever_rows_stand_beside_it(states: NDArray[np.float32]) -> None:
    together = quantised(unit_rows(states))
    for i in range(len(states)):
        alone = quantised(unit_rows(states[i : i + 1]))
        assert alone.values[0].tobytes() == together.values[i].tobytes()
        assert alone.scales[0] == together.scales[i]


@settings(deadline=None)
@given(MATRICES)
def test_rows_have_length_one_or_stay_zero(states: NDArray[np.float32]) -> None:
    lengths = np.linalg.norm(unit_rows(states).astype(np.float64), axis=1)
    assert np.all(~states.any(axis=1) | (np.abs(lengths - 1) < 1e-5))

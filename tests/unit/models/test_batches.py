"""Batches of equal length, and their way over the cores."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranker_service.models.batches import MAX_BATCH, MAX_BATCH_TOKENS, batch_limit, equal_length_batches, on_all_cores

LENGTHS = st.lists(st.integers(1, 300), max_size=200)


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 20))
def test_each_text_is_in_one_batch_of_its_own_length_longest_first(lengths: list[int], limit: int) -> None:
    batches = equal_length_batches(lengths, limit)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    heads = [lengths[batch[0]] for batch in batches]
    assert heads == sorted(heads, reverse=True)
    for batch in batches:
        assert len({lengths[position] for position in batch}) == 1
        assert len(batch) <= limit
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= MAX_BATCH_TOKENS


def test_results_come_in_the_order_of_the_batches() -> None:
    def work(batch: list[int]) -> int:
        time.sleep(0.01 * (batch[0] % 3))
        return batch[0]

    assert list(on_all_cores(work, [[i] for i in range(20)], background=True)) == list(range(20))


def test_an_error_of_one_batch_ends_the_work_and_reaches_the_caller() -> None:
    done: list[int] = []

    def work(batch: list[int]) -> None:
        if batch[0] == 1:
            raise ValueError("no")
        done.append(batch[0])

    with pytest.raises(ValueError, match="no"):
        list(on_all_cores(work, [[i] for i in range(1_000)], background=False))
    assert len(done) < 1_000


def test_a_caller_that_stops_early_leaves_no_thread_behind() -> None:
    results = on_all_cores(len, [[i] for i in range(1_000)], background=False)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("models")]


def test_texts_share_a_batch_only_where_that_changes_no_result() -> None:
    def independent(ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(ids.sum(axis=1))

    def padded(ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(ids.sum(axis=1) + len(ids))

    assert batch_limit(independent, 256) == MAX_BATCH
    assert batch_limit(padded, 256) == 1

"""Dense search beside plain NumPy over every vector."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ranker_service.domain.ranking import rounded
from ranker_service.index.vector import VectorIndex
from tests.builders import a_profile

COUNT, DIMENSION = 4_000, 64


def clustered(count: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Return vectors of length one around a few centres, as texts of a few subjects have them."""
    generator = np.random.default_rng(seed)
    centres = generator.standard_normal((40, dimension))
    matrix = centres[generator.integers(0, 40, count)] + 0.7 * generator.standard_normal((count, dimension))
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


def built(matrix: NDArray[np.float32], exact_vector_limit: int) -> VectorIndex:
    keys = [str(row) for row in range(len(matrix))]
    settings = a_profile(index={"exact_vector_limit": exact_vector_limit}).index
    return VectorIndex.build(keys, lambda wanted: matrix[[int(key) for key in wanted]], settings)


def expected_order(matrix: NDArray[np.float32], query: NDArray[np.float32], limit: int) -> list[int]:
    wide, query = matrix.astype(np.float64), query.astype(np.float64)
    cosines = (wide * query).sum(axis=1) / np.linalg.norm(wide, axis=1) / np.linalg.norm(query)
    return sorted(range(len(matrix)), key=lambda row: (-rounded(cosines[row]), row))[:limit]


def test_exact_search_is_numpy_s_order_and_numpy_s_scores() -> None:
    matrix = clustered(COUNT, DIMENSION, seed=1)
    index = built(matrix, COUNT)
    for query in clustered(50, DIMENSION, seed=2):
        found = index.search(query, 60)
        assert [unit.row for unit in found] == expected_order(matrix, query, 60)
        assert np.allclose([unit.score for unit in found], (matrix @ query)[[unit.row for unit in found]], atol=1e-6)


SMALL = st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3).filter(any), min_size=1)


@settings(deadline=None)
@given(SMALL, SMALL, st.integers(1, 8), st.booleans())
def test_ties_and_multiples_are_ordered_as_numpy_has_them(
    rows: list[list[float]], queries: list[list[float]], limit: int, with_graph: bool
) -> None:
    matrix = np.array(rows, np.float32)
    index = built(matrix, 0 if with_graph and len(set(map(tuple, rows))) == len(rows) <= limit else len(rows))
    for query in np.array(queries, np.float32)[:3]:
        found = [unit.row for unit in index.search(query, limit)]
        assert found == expected_order(matrix, query, limit)


@pytest.mark.slow
def test_the_graph_finds_99_in_100_of_the_nearest_sixty() -> None:
    vectors = clustered(COUNT + 200, DIMENSION, seed=1)
    matrix, queries = vectors[:COUNT], vectors[COUNT:]
    index = built(matrix, 0)
    assert index.revision.startswith("hnswlib")
    shares = []
    for query in queries:
        found = {unit.row for unit in index.search(query, 60)}
        shares.append(len(found & set(expected_order(matrix, query, 60))) / 60)
    assert np.mean(shares) >= 0.99

"""The approximate index: an hnswlib graph over distinct vectors, and the search width that makes it complete enough.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable Small World
graphs", TPAMI 2020.
"""

from bisect import bisect_left
from pathlib import Path
from typing import Any, Self

import hnswlib
import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.profile import IndexSettings
from ranker_service.index.files import IndexDamaged

SPACE = "cosine"
RECALL_DEPTH = 60
"""Recall is measured over this many nearest vectors."""

_SEED = 100
_HELD_OUT = 1_000
_BLOCK = 50
_NOISE = 1.5
_WIDTHS = (60, 80, 100, 120, 160, 200, 240, 320, 400, 480, 640, 800, 1_200, 1_600, 2_400, 3_200, 4_800, 6_400, 10_000)
_SAME_SIMILARITY = 1e-6


class Graph:
    """Immutable once made; searches may run on any number of threads at once."""

    def __init__(self, index: Any, ef: int) -> None:
        self._index = index
        self._widen_to(ef)  # the file does not keep it

    @classmethod
    def build(cls, matrix: NDArray[np.float32], settings: IndexSettings) -> Self:
        """Insert the rows, each of length one, one after another: the same rows make the same graph."""
        count, dimension = matrix.shape
        index = hnswlib.Index(space=SPACE, dim=dimension)
        index.init_index(count, settings.hnsw_m, settings.hnsw_ef_construction, _SEED)
        index.add_items(matrix, np.arange(count), num_threads=1)
        return cls(index, _WIDTHS[0])

    def nearest(self, vector: NDArray[np.float32], count: int) -> NDArray[np.intp] | None:
        """Return the positions of at most `count` near rows; None where the graph does not lead to so many."""
        try:
            labels, _ = self._index.knn_query(vector, k=min(count, self._index.get_current_count()), num_threads=1)
        except RuntimeError:
            return None
        return np.asarray(labels[0], np.intp)

    def widen(self, matrix: NDArray[np.float32], settings: IndexSettings) -> bool:
        """Choose the least search width that reaches `settings.hnsw_recall`; say whether one up to the limit does."""
        queries = _held_out(matrix)
        least = _similarities_at_depth(matrix, queries)

        def is_enough(ef: int) -> bool:
            self._widen_to(ef)
            return self._recall(matrix, queries, least) >= settings.hnsw_recall

        widths = [*(ef for ef in _WIDTHS if ef < settings.hnsw_ef_max), settings.hnsw_ef_max]
        position = bisect_left(widths, 1, key=is_enough)  # recall grows with the width
        if position == len(widths):
            return False
        self._widen_to(widths[position])
        return True

    def save(self, path: Path) -> None:
        """Write the graph; the caller syncs it."""
        self._index.save_index(str(path))

    @classmethod
    def load(cls, path: Path, shape: tuple[int, int], ef: int) -> Self:
        """Read a file whose bytes somebody has checked; raise IndexDamaged where it does not hold so many vectors.

        `shape` is (vectors, dimension).
        """
        count, dimension = shape
        index = hnswlib.Index(space=SPACE, dim=dimension)
        try:
            index.load_index(str(path), max_elements=count)
        except RuntimeError as error:
            raise IndexDamaged(f"{path.name} cannot be loaded: {error}") from error
        if index.get_current_count() != count:
            raise IndexDamaged(f"{path.name} holds {index.get_current_count()} vectors where {count} were expected")
        return cls(index, ef)

    def _widen_to(self, ef: int) -> None:
        self.ef = ef
        self._index.set_ef(ef)

    def _recall(self, matrix: NDArray[np.float32], queries: NDArray[np.float32], least: NDArray[np.float32]) -> float:
        """Return the mean share of the nearest rows that are found; any row as near as the last of them is one."""
        depth = min(RECALL_DEPTH, len(matrix))
        try:
            labels, _ = self._index.knn_query(queries, k=depth)
        except RuntimeError:
            return 0.0
        similarities = np.einsum("qkd,qd->qk", matrix[labels.astype(np.intp)], queries)
        return float((similarities >= least[:, np.newaxis] - _SAME_SIMILARITY).mean())


def _held_out(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return seeded queries of length one that are not in the index: rows with noise, at a cosine of about 0.55.

    The best unit of a real question lies at 0.61 (median of 735 questions), and the nearer a query, the easier it is.
    The few queries that lead into a wrong corner of the graph and find nothing decide the mean, hence so many.
    """
    generator = np.random.default_rng(_SEED)
    chosen = matrix[generator.integers(0, len(matrix), _HELD_OUT)]
    queries = chosen + _NOISE * generator.standard_normal(chosen.shape) / np.sqrt(matrix.shape[1])
    return np.asarray(queries / np.linalg.norm(queries, axis=1, keepdims=True), np.float32)


def _similarities_at_depth(matrix: NDArray[np.float32], queries: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return, for each query, the similarity of the last of its nearest rows, exactly."""
    place = len(matrix) - min(RECALL_DEPTH, len(matrix))
    blocks = (queries[start : start + _BLOCK] @ matrix.T for start in range(0, len(queries), _BLOCK))
    return np.concatenate([np.partition(block, place, axis=1)[:, place] for block in blocks])

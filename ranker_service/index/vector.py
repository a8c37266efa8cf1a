"""Dense search: the units whose vectors point most nearly where the query's does.

Units with the same encoder input share one vector. Up to a number of distinct vectors an exact product is both faster
and complete; above it a graph proposes, unless a filter narrows the rows. Either way scores are cosines in float64.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.digest import digest_of
from ranker_service.domain.encoding import Vector
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.ranking import TIE_PLACES, Scored
from ranker_service.index.directions import cosines, length, lengths
from ranker_service.index.duplicates import Duplicates
from ranker_service.index.files import (
    check_files,
    describe_files,
    digest_of_ids,
    read_sidecar,
    require,
    sync_file,
    write_sidecar,
)
from ranker_service.index.graph import SPACE, Graph
from ranker_service.index.order import in_rank_order
from ranker_service.index.products_kernel import row_products

EXACT = "exact.v1"
_SIDECAR = "vectors.json"
_GRAPH = "vectors.hnsw"
_SMALL_SHARE = 4
"""Where fewer than one in this many vectors may rank, gathering them is cheaper than multiplying with all."""

ReadVectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Pooled vectors of keys, shape (keys, dimension)."""


def vector_settings_revision(settings: IndexSettings) -> str:
    """Return what, besides the vectors, determines dense search."""
    return (
        f"vectors.v1 exact<={settings.exact_vector_limit} m={settings.hnsw_m} efc={settings.hnsw_ef_construction} "
        f"ef<={settings.hnsw_ef_max} recall={settings.hnsw_recall:g}"
    )


class VectorIndex:
    """Immutable; searches may run on any number of threads at once."""

    def __init__(
        self,
        keys: Sequence[str],
        matrix: NDArray[np.float32],
        duplicates: Duplicates,
        graph: Graph | None,
        revision: str,
    ) -> None:
        self._keys = keys
        self._matrix = matrix
        self._scales = (1.0 / lengths(matrix)).astype(np.float32)
        self._duplicates = duplicates
        self._graph = graph
        self._revision = revision
        row_products(matrix[:0], np.zeros(matrix.shape[1], np.float32))  # compiled before the first query needs it

    @property
    def revision(self) -> str:
        """How nearest vectors are found, and why where it is not what the size asks for."""
        return self._revision

    @property
    def distinct_count(self) -> int:
        """Distinct encoder inputs."""
        return len(self._keys)

    @classmethod
    def build(cls, keys: Sequence[str], read_vectors: ReadVectors, settings: IndexSettings) -> Self:
        """Index the units whose encoder inputs have these digests, in row order.

        Raises VectorRefused where a vector has no direction, and whatever `read_vectors` raises.
        """
        duplicates = Duplicates.of(keys)
        distinct = list(dict.fromkeys(keys))
        matrix = read_vectors(distinct)
        if len(distinct) <= settings.exact_vector_limit:
            return cls(distinct, matrix, duplicates, None, EXACT)
        directions = matrix / lengths(matrix).astype(np.float32)[:, np.newaxis]
        graph = Graph.build(directions, settings)
        if not graph.widen(directions, settings):
            why = f"{EXACT} (hnsw recall below {settings.hnsw_recall:g} at ef {settings.hnsw_ef_max})"
            return cls(distinct, matrix, duplicates, None, why)
        how = f"hnswlib.v1 m={settings.hnsw_m} efc={settings.hnsw_ef_construction} ef={graph.ef}"
        return cls(distinct, matrix, duplicates, graph, how)

    def search(self, query: Vector, limit: int, allowed: NDArray[np.bool_] | None = None) -> list[Scored]:
        """Return the units of the highest cosine: rounded to 12 places, descending, then by row.

        `allowed`, of shape (units,), narrows to some rows. Raises ValueError for a query of another shape or without a
        direction.
        """
        direction = self._direction(query)
        if limit < 1 or not self._keys:
            return []
        candidates = None
        if self._graph is not None and allowed is None:
            candidates = self._graph.nearest(direction, limit)
        if candidates is None:
            candidates = self._nearest(direction, limit, allowed)
        scores = cosines(self._matrix[candidates], query)
        best = _top(np.round(scores, TIE_PLACES), limit, margin=0.0)
        rows, row_scores = self._duplicates.fan_out(candidates[best], scores[best], limit, allowed)
        return in_rank_order(rows, row_scores)[:limit]

    def save(self, directory: Path, model_revision: str, settings: IndexSettings) -> list[Path]:
        """Write the graph, where there is one, and the sidecar, synced; return the files."""
        files = []
        if self._graph is not None:
            files.append(directory / _GRAPH)
            self._graph.save(files[0])
            sync_file(files[0])
        construction = {"m": settings.hnsw_m, "ef_construction": settings.hnsw_ef_construction}
        chosen = {"ef": None if self._graph is None else self._graph.ef, "revision": self._revision}
        fields = {**self._identity(model_revision), **construction, **chosen, "files": describe_files(files)}
        write_sidecar(directory / _SIDECAR, fields)
        return [*files, directory / _SIDECAR]

    @classmethod
    def load(cls, directory: Path, keys: Sequence[str], read_vectors: ReadVectors, model_revision: str) -> Self:
        """Open what `save` wrote for units with these keys; raise IndexDamaged unless everything is as it was."""
        sidecar = read_sidecar(directory / _SIDECAR)
        distinct = list(dict.fromkeys(keys))
        matrix = read_vectors(distinct)
        index = cls(distinct, matrix, Duplicates.of(keys), None, str(sidecar.get("revision")))
        for name, expected in index._identity(model_revision).items():
            require(f"{name} of the vectors", sidecar.get(name), expected)
        check_files(directory, sidecar["files"])
        if sidecar["ef"] is None:
            return index
        graph = Graph.load(directory / _GRAPH, matrix.shape, sidecar["ef"])
        return cls(distinct, matrix, index._duplicates, graph, index.revision)

    def _identity(self, model_revision: str) -> dict[str, Any]:
        """Return what a file of this index must agree on with the vectors that it is used with."""
        count, dimension = self._matrix.shape
        return {
            "space": SPACE,
            "dimension": dimension,
            "count": count,
            "model_revision": model_revision,
            "ordered_id_digest": digest_of_ids(self._keys),
            "vectors_digest": digest_of(self._matrix.data),
        }

    def _direction(self, query: Vector) -> NDArray[np.float32]:
        dimension = self._matrix.shape[1]
        if query.shape != (dimension,):
            raise ValueError(f"the query's vector has shape {query.shape} where ({dimension},) was expected")
        return np.asarray(query / length(query), np.float32)

    def _nearest(
        self, direction: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> NDArray[np.intp]:
        """Return every vector that may be among the `limit` nearest, ties included."""
        chosen = None if allowed is None else np.flatnonzero(self._duplicates.any_allowed(allowed))
        if chosen is not None and len(chosen) * _SMALL_SHARE < len(self._keys):
            similarities = row_products(self._matrix[chosen], direction) * self._scales[chosen]
        else:
            similarities = row_products(self._matrix, direction) * self._scales
            similarities = similarities if chosen is None else similarities[chosen]
        near = _top(similarities, limit, margin=2 * len(direction) * float(np.finfo(np.float32).eps))
        return near if chosen is None else chosen[near]


def _top(scores: NDArray[Any], limit: int, margin: float) -> NDArray[np.intp]:
    """Return the positions of the `limit` highest scores, and of all that lie at most `margin` below them."""
    if len(scores) <= limit:
        return np.arange(len(scores))
    least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    return np.flatnonzero(scores >= least - margin)

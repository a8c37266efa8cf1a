"""Vectors rank by their direction, so every one of them must have one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class VectorRefused(ValueError):
    """A vector that is not finite, or is zero and so lies equally far from everything."""


def lengths(matrix: NDArray[Any]) -> NDArray[np.float64]:
    """Return the length of each row, (rows,) in float64; raise VectorRefused where a row has no direction."""
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    is_good = np.isfinite(squares) & (squares > 0.0)
    if not is_good.all():
        row = int(np.argmin(is_good))
        raise VectorRefused(f"vector {row} of {len(matrix)} is not finite or is zero")
    return np.asarray(np.sqrt(squares))


def length(vector: NDArray[Any]) -> float:
    """Return a vector's length; raise VectorRefused where it has no direction."""
    return float(lengths(vector[np.newaxis])[0])


def cosines(matrix: NDArray[Any], vector: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine of each row and the vector in float64, within -1 and 1.

    Each row is summed by itself and in one order, so rows of equal bytes have equal cosines wherever they stand; a
    library's matrix product does not promise that.
    """
    wide = matrix.astype(np.float64)
    products = np.einsum("ij,j->i", wide, vector.astype(np.float64))
    return np.asarray(np.clip(products / (lengths(wide) * length(vector)), -1.0, 1.0))


def require_shape(vectors: Sequence[NDArray[Any]], dimension: int) -> None:
    """Raise VectorRefused unless each vector has shape (dimension,)."""
    for vector in vectors:
        if vector.shape != (dimension,):
            raise VectorRefused(f"a vector has shape {vector.shape} where ({dimension},) was expected")

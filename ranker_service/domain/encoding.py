"""What an encoder makes of a text."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""Shape (dimension,), L2-normalised."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The token vectors of one unit, special tokens left out: row i is `values[i] * scales[i]`, of length about one.

    Shapes: values (tokens, dimension) int8, scales (tokens,) float16.
    """

    values: NDArray[np.int8]
    scales: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class UnitEncoding:
    """A unit's pooled vector and, where they are kept, its token vectors."""

    vector: Vector
    token_vectors: TokenVectors | None


@dataclass(frozen=True, slots=True)
class QueryEncoding:
    """What an encoder makes of a query.

    `token_vectors` has shape (tokens, dimension), rows of length one, special tokens left out. `token_count` counts the
    query's tokens, `tokens_encoded` those that the encoder's window held.
    """

    vector: Vector
    token_vectors: NDArray[Any]
    token_count: int
    tokens_encoded: int

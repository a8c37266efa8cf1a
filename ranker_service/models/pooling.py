"""A model's hidden states to the vectors that are kept. Each function sees one text: no other can change its result."""

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import TokenVectors, Vector

_INT8_MAX = 127


def mean_pool(states: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the mean over the tokens where `mask` is true: (tokens, dimension) to (dimension,).

    Reimers and Gurevych, "Sentence-BERT", EMNLP 2019.
    """
    kept = states[mask]
    return np.asarray(kept.sum(axis=0) / np.float32(len(kept)), np.float32)


def unit_length(vector: NDArray[np.float32]) -> Vector:
    """Divide by the Euclidean length; raise ValueError where that is zero or not finite."""
    length = np.sqrt(np.square(vector, dtype=np.float64).sum())
    if not 0.0 < length < np.inf:
        raise ValueError(f"the model made a vector of length {length}")
    return np.asarray(vector / length, np.float32)


def unit_rows(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide each row by its Euclidean length; a row of zeros stays one."""
    lengths = np.sqrt(np.square(states).sum(axis=1, keepdims=True))
    return np.asarray(states / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)


def quantised(rows: NDArray[np.float32]) -> TokenVectors:
    """Keep each row as int8 and a scale, its greatest absolute value over 127: (tokens, dimension) float32 rows."""
    scales = (np.abs(rows).max(axis=1) / _INT8_MAX).astype(np.float16)
    steps = np.maximum(scales.astype(np.float32), np.finfo(np.float32).tiny)
    values = np.clip(np.rint(rows / steps[:, None]), -_INT8_MAX, _INT8_MAX)
    return TokenVectors(values.astype(np.int8), scales)

"""Units that share an encoder input share a vector; a hit on the vector fans out to all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Duplicates:
    """The rows of each distinct key, keys in the order of their first row.

    offsets (keys + 1,); rows (units,), ascending within a key.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, keys: Sequence[str]) -> Self:
        """Group rows, whose keys are given in row order."""
        positions = {key: position for position, key in enumerate(dict.fromkeys(keys))}
        position_of = np.fromiter((positions[key] for key in keys), np.int64, len(keys))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(position_of, minlength=len(positions)))])
        return cls(offsets.astype(np.int64), np.argsort(position_of, kind="stable"))

    def any_allowed(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say of each key whether any of its rows is allowed."""
        return np.asarray(np.logical_or.reduceat(allowed[self.rows], self.offsets[:-1]))

    def fan_out(
        self,
        positions: NDArray[np.intp],
        scores: NDArray[np.float64],
        limit: int,
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the allowed rows of keys, at most `limit` of each, beside the keys' scores."""
        counts = self.offsets[positions + 1] - self.offsets[positions]
        key = np.repeat(np.arange(len(positions)), counts)
        rows = self.rows[self.offsets[positions][key] + _places(key)]
        if allowed is not None:
            key, rows = key[allowed[rows]], rows[allowed[rows]]
        first = _places(key) < limit
        return rows[first], scores[key[first]]


def _places(key: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return each entry's position among those of its key, whose entries stand together."""
    return np.arange(len(key)) - np.searchsorted(key, key)

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
    ) -> tuple[list[int], list[float]]:
        """Return the allowed rows of keys, at most `limit` of each, beside the keys' scores."""
        rows: list[int] = []
        row_scores: list[float] = []
        for position, score in zip(positions.tolist(), scores.tolist(), strict=True):
            bearers = self.rows[self.offsets[position] : self.offsets[position + 1]]
            if allowed is not None:
                bearers = bearers[allowed[bearers]]
            bearers = bearers[:limit]
            rows.extend(bearers.tolist())
            row_scores.extend([score] * len(bearers))
        return rows, row_scores

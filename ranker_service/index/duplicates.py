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
        rows = [self._bearers(position, limit, allowed) for position in positions.tolist()]
        if not rows:
            return np.empty(0, np.int64), np.empty(0)
        return np.concatenate(rows), np.repeat(scores, [len(bearers) for bearers in rows])

    def _bearers(self, position: int, limit: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        rows = self.rows[self.offsets[position] : self.offsets[position + 1]]
        return rows[:limit] if allowed is None else rows[allowed[rows]][:limit]

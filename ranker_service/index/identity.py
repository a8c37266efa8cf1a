"""Exact identity: the names that a query may spell out, and the units that bear them.

A unit's names are its resource's id, path, file name and title, and its own heading. Names and query are compared after
NFKC, case folding and trimming.
"""

import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from ranker_service.domain.ranking import ExactHit
from ranker_service.domain.unit import Unit
from ranker_service.index.files import frozen, read_array, write_array, write_bytes

IDENTITY_REVISION = "names.v1"
RESOURCE_ID, NAME, PREFIX = 0, 1, 2
"""Priorities: the resource id is the query; another name is; a name starts with it."""

_LAST = chr(0x10FFFF)
_KEYS = "identity_keys.json"


def normalized(name: str) -> str:
    """Return a name in compatibility form, case-folded and trimmed."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).strip()


class _Bearers:
    """For each key, in key order, the rows that bear it, ascending."""

    def __init__(self, offsets: NDArray[np.uint64], rows: NDArray[np.int64]) -> None:
        self.offsets = offsets
        self.rows = rows

    @classmethod
    def of(cls, keys: Sequence[str], rows_of: Mapping[str, Sequence[int]]) -> Self:
        """Lay out the rows of each key one after another."""
        offsets = np.zeros(len(keys) + 1, np.uint64)
        np.cumsum([len(rows_of.get(key, ())) for key in keys], out=offsets[1:])
        rows = (row for key in keys for row in rows_of.get(key, ()))
        return cls(frozen(offsets), frozen(np.fromiter(rows, np.int64, int(offsets[-1]))))

    def between(self, start: int, end: int) -> NDArray[np.int64]:
        """Return the rows of the keys `start:end`."""
        return self.rows[int(self.offsets[start]) : int(self.offsets[end])]


class IdentityIndex:
    """Immutable; lookups may run on any number of threads at once."""

    def __init__(self, unit_count: int, keys: Sequence[str], ids: _Bearers, names: _Bearers) -> None:
        self._unit_count = unit_count
        self._keys = keys
        self._ids = ids
        self._names = names

    @classmethod
    def build(cls, units: Sequence[Unit]) -> Self:
        """Index the names of units, which stand in row order."""
        by_id: defaultdict[str, list[int]] = defaultdict(list)
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        seen: dict[str, str] = {}
        for row, unit in enumerate(units):
            by_id[_remembered(seen, unit.resource.resource_id)].append(row)
            for key in {_remembered(seen, name) for name in _names(unit)}:
                by_name[key].append(row)
        keys = sorted((by_id.keys() | by_name.keys()) - {""})
        return cls(len(units), keys, _Bearers.of(keys, by_id), _Bearers.of(keys, by_name))

    def search(
        self, query: str, allowed: NDArray[np.bool_] | None, limit: int, min_prefix_characters: int
    ) -> list[ExactHit]:
        """Return at most `limit` units that the query names, each with its best priority, by (priority, row).

        `allowed`, of shape (units,), narrows to some rows.
        """
        wanted = normalized(query)
        if not wanted or limit < 1:
            return []
        hits: dict[int, int] = {}
        for priority, groups in self._matches(wanted, min_prefix_characters):
            if len(hits) < limit:
                for row in self._lowest(groups, allowed, limit + len(hits)):
                    hits.setdefault(row, priority)
        ordered = sorted(hits.items(), key=lambda hit: (hit[1], hit[0]))
        return [ExactHit(row, priority) for row, priority in ordered[:limit]]

    def save(self, directory: Path) -> list[Path]:
        """Write the index's files, synced, and return them."""
        write_bytes(directory / _KEYS, orjson.dumps([self._unit_count, self._keys]))
        arrays: dict[str, NDArray[Any]] = {
            "id_offsets": self._ids.offsets,
            "id_rows": self._ids.rows,
            "name_offsets": self._names.offsets,
            "name_rows": self._names.rows,
        }
        for name, array in arrays.items():
            write_array(_array_path(directory, name), array)
        return [directory / _KEYS, *(_array_path(directory, name) for name in arrays)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read files that `save` wrote and somebody has checked."""
        ids, names = (
            _Bearers(*(read_array(_array_path(directory, f"{which}_{part}")) for part in ("offsets", "rows")))
            for which in ("id", "name")
        )
        unit_count, keys = orjson.loads((directory / _KEYS).read_bytes())
        return cls(unit_count, keys, ids, names)

    def _matches(self, wanted: str, min_prefix_characters: int) -> Iterator[tuple[int, list[NDArray[np.int64]]]]:
        """Yield (priority, groups of rows that match) in priority order; a row may stand in several."""
        start = bisect_left(self._keys, wanted)
        if start < len(self._keys) and self._keys[start] == wanted:
            yield RESOURCE_ID, [self._ids.between(start, start + 1)]
            yield NAME, [self._names.between(start, start + 1)]
        if len(wanted) >= min_prefix_characters:
            ranges = list(self._prefixed(wanted, start))
            yield PREFIX, [bearers.between(*keys) for keys in ranges for bearers in (self._ids, self._names)]

    def _lowest(self, groups: Sequence[NDArray[np.int64]], allowed: NDArray[np.bool_] | None, count: int) -> list[int]:
        """Return the `count` lowest allowed rows of some groups."""
        is_match = np.zeros(self._unit_count, np.bool_)
        for rows in groups:
            is_match[rows] = True
        if allowed is not None:
            is_match &= allowed
        return [int(row) for row in np.flatnonzero(is_match)[:count]]

    def _prefixed(self, wanted: str, start: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of longer keys that start with `wanted` and end a word there.

        Keys that go on with one and the same character lie together, so each such run is taken or skipped as a whole.
        """
        length = len(wanted)
        end = bisect_left(self._keys, wanted + _LAST, start)
        if start < end and self._keys[start] == wanted:
            start += 1
        while start < end:
            following = self._keys[start][length]
            run_end = bisect_left(self._keys, wanted + following + _LAST, start, end)
            run_end = max(run_end, start + 1)
            if not (following.isalnum() and wanted[-1].isalnum()):
                yield start, run_end
            start = run_end


def _names(unit: Unit) -> Iterator[str]:
    """Yield a unit's names other than its resource id."""
    yield unit.resource.path
    yield unit.resource.path.rpartition("/")[2]
    yield unit.resource.title
    if unit.heading_path:
        yield unit.heading_path[-1]


def _remembered(seen: dict[str, str], name: str) -> str:
    key = seen.get(name)
    if key is None:
        key = seen[name] = normalized(name)
    return key


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"identity_{name}.npy"

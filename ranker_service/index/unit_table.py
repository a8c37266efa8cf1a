"""The units of an index, in row order; their texts stay on disk and are read one at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from ranker_service.domain.digest import digest_of
from ranker_service.domain.resource import Resource
from ranker_service.domain.unit import Unit
from ranker_service.index.files import IndexDamaged, read_array, write_array
from ranker_service.index.strings import StringFile, Strings

_KEYS, _CONTEXTS, _TEXTS = "unit_keys", "unit_contexts", "unit_texts"
_ARRAYS = ("resource_of", "spans", "token_counts", "digests", "inputs")


@dataclass(frozen=True, slots=True)
class UnitTable:
    """Units in unit_key order.

    keys, texts: UTF-8; contexts: JSON of [heading_path, prefix]. resource_of (units,) uint32: positions in the resource
    table; spans (units, 2) uint64: bytes; token_counts (units,) uint32; digests and inputs (units, 32) uint8: of the
    text and of the encoder input.
    """

    keys: Strings
    contexts: Strings
    texts: Strings
    resource_of: NDArray[np.uint32]
    spans: NDArray[np.uint64]
    token_counts: NDArray[np.uint32]
    digests: NDArray[np.uint8]
    inputs: NDArray[np.uint8]

    @classmethod
    def of(cls, units: Sequence[Unit], inputs: Sequence[str], positions: Mapping[str, int]) -> Self:
        """Tabulate units in row order, with their encoder inputs' digests and the positions of resource ids."""
        return cls(
            Strings.of([unit.unit_key.encode() for unit in units]),
            Strings.of([orjson.dumps([unit.heading_path, unit.prefix]) for unit in units]),
            Strings.of([unit.text.encode() for unit in units]),
            np.array([positions[unit.resource.resource_id] for unit in units], np.uint32),
            np.array([(unit.start_byte, unit.end_byte) for unit in units], np.uint64).reshape(-1, 2),
            np.array([unit.token_count for unit in units], np.uint32),
            _digests([unit.digest for unit in units]),
            _digests(inputs),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def unit(self, row: int, resource: Resource) -> Unit:
        """Return a unit, whose resource the caller has read; raise IndexDamaged where its text was changed."""
        heading_path, prefix = orjson.loads(self.contexts[row])
        start, end = self.spans[row].tolist()
        text, digest = self.texts[row], self.digests[row].tobytes().hex()
        if digest_of(text) != digest:
            raise IndexDamaged(f"the text of unit {row} was changed")
        return Unit(
            self.keys[row].decode(),
            resource,
            tuple(heading_path),
            start,
            end,
            digest,
            int(self.token_counts[row]),
            prefix,
            text.decode(),
        )

    def input_digests(self) -> list[str]:
        """Return the digest of each unit's encoder input, in row order."""
        content = self.inputs.tobytes().hex()
        return [content[start : start + 64] for start in range(0, len(content), 64)]

    def save(self, directory: Path) -> list[Path]:
        """Write the table's files, synced, and return them."""
        files = self.keys.save(directory, _KEYS)
        files += self.contexts.save(directory, _CONTEXTS)
        files += self.texts.save(directory, _TEXTS)
        for name in _ARRAYS:
            array: NDArray[Any] = getattr(self, name)
            write_array(_array_path(directory, name), array)
        return [*files, *(_array_path(directory, name) for name in _ARRAYS)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Open files that `save` wrote and somebody has checked."""
        arrays: list[Any] = [read_array(_array_path(directory, name)) for name in _ARRAYS]
        return cls(
            Strings.load(directory, _KEYS),
            Strings.load(directory, _CONTEXTS),
            StringFile.load(directory, _TEXTS),
            *arrays,
        )


def _digests(digests: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex("".join(digests)), np.uint8).reshape(-1, 32)


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"unit_{name}.npy"

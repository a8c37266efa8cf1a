"""The resources of an index: read one at a time, and narrowed by kind, layer and path without reading any."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from ranker_service.domain.resource import Layer, ParseState, Resource
from ranker_service.index.files import read_array, write_array
from ranker_service.index.strings import Strings

_LAYERS = tuple(Layer)
_RECORDS, _KINDS, _PATHS = "resources", "kinds", "paths"
_ARRAYS = ("path_order", "kind_of", "layer_of")


@dataclass(frozen=True, slots=True)
class ResourceTable:
    """Resources in resource_id order; positions are theirs.

    `by_path` holds the paths, ascending, and `path_order` whose they are; `kind_of` indexes `kinds`, which are sorted.
    """

    records: Strings
    kinds: Strings
    by_path: Strings
    path_order: NDArray[np.uint32]
    kind_of: NDArray[np.uint32]
    layer_of: NDArray[np.uint8]

    @classmethod
    def of(cls, resources: Sequence[Resource]) -> Self:
        """Tabulate resources."""
        kinds = sorted({resource.kind for resource in resources})
        codes = {kind: code for code, kind in enumerate(kinds)}
        path_order = sorted(range(len(resources)), key=lambda position: resources[position].path)
        return cls(
            Strings.of([_record(resource) for resource in resources]),
            Strings.of([kind.encode() for kind in kinds]),
            Strings.of([resources[position].path.encode() for position in path_order]),
            np.array(path_order, np.uint32),
            np.array([codes[resource.kind] for resource in resources], np.uint32),
            np.array([_LAYERS.index(resource.layer) for resource in resources], np.uint8),
        )

    def __len__(self) -> int:
        return len(self.records)

    def resource(self, position: int) -> Resource:
        """Return a resource."""
        resource_id, layer, kind, path, title, media_type, digest, size_bytes, state = orjson.loads(
            self.records[position]
        )
        return Resource(resource_id, Layer(layer), kind, path, title, media_type, digest, size_bytes, ParseState(state))

    def matching(self, kinds: Collection[str], layers: Collection[Layer], path_prefix: str) -> NDArray[np.bool_] | None:
        """Say of each resource whether it has one of the kinds, one of the layers and the prefix.

        Nothing given does not narrow; None where nothing narrows.
        """
        narrowed: list[NDArray[np.bool_]] = []
        if kinds:
            codes = [self.kinds.find(kind.encode()) for kind in kinds]
            narrowed.append(np.isin(self.kind_of, [code for code in codes if code is not None]))
        if layers:
            narrowed.append(np.isin(self.layer_of, [_LAYERS.index(layer) for layer in layers]))
        if path_prefix:
            below = np.zeros(len(self), np.bool_)
            below[self.path_order[slice(*self.by_path.starting_with(path_prefix.encode()))]] = True
            narrowed.append(below)
        return np.logical_and.reduce(narrowed) if narrowed else None

    def save(self, directory: Path) -> list[Path]:
        """Write the table's files, synced, and return them."""
        files = self.records.save(directory, _RECORDS)
        files += self.kinds.save(directory, _KINDS)
        files += self.by_path.save(directory, _PATHS)
        for name in _ARRAYS:
            array: NDArray[Any] = getattr(self, name)
            write_array(_array_path(directory, name), array)
        return [*files, *(_array_path(directory, name) for name in _ARRAYS)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read files that `save` wrote and somebody has checked."""
        arrays: list[Any] = [read_array(_array_path(directory, name)) for name in _ARRAYS]
        return cls(
            Strings.load(directory, _RECORDS),
            Strings.load(directory, _KINDS),
            Strings.load(directory, _PATHS),
            *arrays,
        )


def _record(resource: Resource) -> bytes:
    return orjson.dumps(
        [
            resource.resource_id,
            resource.layer.value,
            resource.kind,
            resource.path,
            resource.title,
            resource.media_type,
            resource.digest,
            resource.size_bytes,
            resource.parse_state.value,
        ]
    )


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"resource_{name}.npy"

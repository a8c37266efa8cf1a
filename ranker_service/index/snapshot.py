"""A snapshot: one complete, immutable index, opened from its directory.

meta.json        revisions, counts, and size and digest of every other file
unit_*, resource_*, resources*, kinds*, paths*   the units and their resources
lexical_*        BM25's postings
identity_*       exact names
vectors.*        how nearest vectors are found; the vectors themselves stay in the vector store
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import TokenVectors
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import Layer, Resource
from ranker_service.domain.unit import Unit
from ranker_service.index.files import (
    IndexDamaged,
    check_files,
    describe_files,
    digest_of_ids,
    read_sidecar,
    require,
    write_sidecar,
)
from ranker_service.index.identity import IdentityIndex
from ranker_service.index.lexical import LexicalIndex
from ranker_service.index.resource_table import ResourceTable
from ranker_service.index.unit_table import UnitTable
from ranker_service.index.vector import VectorIndex
from ranker_service.index.vector_store import VectorStore

FORMAT = 1
TOKEN_VECTOR_LIMIT = "token_vector_limit"  # noqa: S105 - a reason, not a secret
"""`Snapshot.reranker_note` where there are too many units for token vectors."""

_META = "meta.json"
HELD_UNITS = 16_384
"""Up to so many units, all of them are held in memory: reading a hundred from the file takes half a millisecond."""
_CACHED_UNITS = 4_096
_CACHED_KEYS = 16_384
"""A caller asks for the units it knows again with every query, up to 256 of them."""


@dataclass(frozen=True, slots=True)
class SnapshotMeta:
    """What a snapshot says of itself."""

    format: int
    index_revision: str
    effective_memory_hash: str
    parser_revision: str
    chunker_revision: str
    lexical_revision: str
    model_revision: str
    vector_index_revision: str
    resource_count: int
    unit_count: int
    ordered_id_digest: str
    token_vector_bytes: int
    reranker_note: str

    def write(self, directory: Path, files: Collection[Path]) -> None:
        """Write the sidecar of these files; it is the last file of a snapshot."""
        write_sidecar(directory / _META, {**asdict(self), "files": describe_files(files)})

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Read the sidecar and check every file that it names; raise IndexDamaged."""
        sidecar = read_sidecar(directory / _META)
        require("format of the index", sidecar.get("format"), FORMAT)
        check_files(directory, sidecar["files"])
        return cls(**{field.name: sidecar[field.name] for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class SnapshotParts:
    """The searchable parts, as built or as loaded; rows and positions agree between them."""

    resources: ResourceTable
    units: UnitTable
    lexical: LexicalIndex
    identity: IdentityIndex
    vectors: VectorIndex

    def all_units(self) -> list[Unit]:
        """Read the unit of each row; raise IndexDamaged where its text was changed."""
        resources = [self.resources.resource(position) for position in range(len(self.resources))]
        return [self.units.unit(row, resources[place]) for row, place in enumerate(self.units.resource_of.tolist())]


class Snapshot:
    """Immutable; any number of threads may use it. Files that are removed meanwhile stay readable to it."""

    def __init__(
        self, meta: SnapshotMeta, parts: SnapshotParts, store: VectorStore, held: Sequence[Unit] | None
    ) -> None:
        """Put the parts together; `held` are the units of all rows, None where they are read one at a time."""
        self._meta = meta
        self._parts = parts
        self._store = store
        self._held = held
        self._inputs = parts.units.input_digests()
        self._cached_unit = lru_cache(_CACHED_UNITS)(self._read_unit)
        self._cached_row = lru_cache(_CACHED_KEYS)(self._find_row)
        self._resource = lru_cache(_CACHED_UNITS)(parts.resources.resource)

    @property
    def index_revision(self) -> str:
        """Digest over the indexed memory and every revision and setting that the index depends on."""
        return self._meta.index_revision

    @property
    def effective_memory_hash(self) -> str:
        """The memory that was indexed."""
        return self._meta.effective_memory_hash

    @property
    def parser_revision(self) -> str:
        """Revision of the parsers."""
        return self._meta.parser_revision

    @property
    def chunker_revision(self) -> str:
        """Revision of the chunker and its sizes."""
        return self._meta.chunker_revision

    @property
    def lexical_revision(self) -> str:
        """Revision of the lexical tokens and of BM25's constants."""
        return self._meta.lexical_revision

    @property
    def model_revision(self) -> str:
        """Revision of the encoder."""
        return self._meta.model_revision

    @property
    def vector_index_revision(self) -> str:
        """How nearest vectors are found."""
        return self._meta.vector_index_revision

    @property
    def unit_count(self) -> int:
        """Units."""
        return self._meta.unit_count

    @property
    def resource_count(self) -> int:
        """Resources of the memory that was indexed, those without units included."""
        return self._meta.resource_count

    @property
    def token_vector_bytes(self) -> int:
        """Bytes that the token vectors of the units take on disk; 0 where none are kept."""
        return self._meta.token_vector_bytes

    @property
    def reranker_note(self) -> str:
        """Why there are no token vectors; empty where there are."""
        return self._meta.reranker_note

    @property
    def lexical(self) -> LexicalIndex:
        """BM25."""
        return self._parts.lexical

    @property
    def identity(self) -> IdentityIndex:
        """Exact names."""
        return self._parts.identity

    @property
    def vectors(self) -> VectorIndex:
        """Dense search."""
        return self._parts.vectors

    def unit(self, row: int) -> Unit:
        """Return the unit of a row; raise IndexError, and IndexDamaged where its text was changed meanwhile."""
        if self._held is None:
            return self._cached_unit(row)
        if row < 0:
            raise IndexError(row)
        return self._held[row]

    def row_of(self, unit_key: str) -> int | None:
        """Return the row of a unit; None where the index does not hold it."""
        return self._cached_row(unit_key)

    def holds(self, unit_key: str) -> bool:
        """Say whether the index holds a unit."""
        return self.row_of(unit_key) is not None

    def resources(self) -> list[Resource]:
        """Return the resources of the memory that was indexed, in resource_id order."""
        return [self._resource(position) for position in range(self.resource_count)]

    def rows_by_resource(self) -> list[list[int]]:
        """Return the rows of each resource's units, ascending, in the order of `resources`."""
        rows: list[list[int]] = [[] for _ in range(self.resource_count)]
        for row, position in enumerate(self._parts.units.resource_of.tolist()):
            rows[position].append(row)
        return rows

    def token_vectors(self, rows: Sequence[int]) -> list[TokenVectors]:
        """Return the token vectors of rows; raise IndexDamaged where they are missing or were changed."""
        return self._store.token_vectors([self._inputs[row] for row in rows])

    def allowed(self, kinds: Collection[str], layers: Collection[Layer], path_prefix: str) -> NDArray[np.bool_] | None:
        """Return, shape (units,), whether each row's resource passes every filter given; None where none is given."""
        matching = self._parts.resources.matching(kinds, layers, path_prefix)
        return None if matching is None else matching[self._parts.units.resource_of]

    def close(self) -> None:
        """Forget the units that were read. The files are closed once nothing refers to the snapshot any more."""
        self._cached_unit.cache_clear()
        self._cached_row.cache_clear()
        self._resource.cache_clear()

    def _find_row(self, unit_key: str) -> int | None:
        return self._parts.units.keys.find(unit_key.encode())

    def _read_unit(self, row: int) -> Unit:
        return self._parts.units.unit(row, self._resource(int(self._parts.units.resource_of[row])))


def open_snapshot(directory: Path, store: VectorStore, known: Sequence[Unit] | None = None) -> Snapshot:
    """Open an index, whose vectors `store` keeps; `known` are the units of its rows, for whoever has them.

    Raises IndexDamaged unless every file is byte for byte what was written, and the store holds, unchanged, every
    vector of every unit. Of token vectors it only looks whether they are there: `Snapshot.token_vectors` checks those
    that it reads, as `Snapshot.unit` checks the text that it reads.
    """
    try:
        meta = SnapshotMeta.read(directory)
        require("model revision of the index", meta.model_revision, store.model_revision)
        units = UnitTable.load(directory)
        parts = SnapshotParts(
            ResourceTable.load(directory),
            units,
            LexicalIndex.load(directory),
            IdentityIndex.load(directory),
            VectorIndex.load(directory, units.input_digests(), store.vectors, meta.model_revision),
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise IndexDamaged(f"the index cannot be opened: {error}") from error
    _require_agreement(meta, parts, store)
    if meta.unit_count > HELD_UNITS:
        return Snapshot(meta, parts, store, None)
    return Snapshot(meta, parts, store, parts.all_units() if known is None else known)


def _require_agreement(meta: SnapshotMeta, parts: SnapshotParts, store: VectorStore) -> None:
    """Raise IndexDamaged unless the parts speak of the same units and the store holds their token vectors."""
    require("count of units", len(parts.units), meta.unit_count)
    require("count of units with tokens", parts.lexical.unit_count, meta.unit_count)
    require("count of resources", len(parts.resources), meta.resource_count)
    ids = (key.decode() for key in parts.units.keys)
    require("digest of the ordered unit keys", digest_of_ids(ids), meta.ordered_id_digest)
    inputs = parts.units.input_digests()
    require("count of missing vectors", len(store.missing(inputs, with_token_vectors=not meta.reranker_note)), 0)


def meta_of(parts: SnapshotParts, **known: Any) -> SnapshotMeta:
    """Return what a snapshot of these parts says of itself, given what the parts do not know."""
    return SnapshotMeta(
        format=FORMAT,
        vector_index_revision=parts.vectors.revision,
        resource_count=len(parts.resources),
        unit_count=len(parts.units),
        ordered_id_digest=digest_of_ids(key.decode() for key in parts.units.keys),
        **known,
    )


def save_parts(parts: SnapshotParts, directory: Path, model_revision: str, settings: IndexSettings) -> list[Path]:
    """Write every part's files, synced, and return them."""
    saved = [part.save(directory) for part in (parts.resources, parts.units, parts.lexical, parts.identity)]
    return [*(path for files in saved for path in files), *parts.vectors.save(directory, model_revision, settings)]

"""Builds and opens the index of one memory; knows every setting that an index depends on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.digest import digest_of, is_digest
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.index.builder import build_snapshot, index_revision_of
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot, open_snapshot
from ranker_service.index.vector_store import VectorStore
from ranker_service.memory.chunker import Chunker
from ranker_service.memory.durable import read_file, replace_file
from ranker_service.ports import Encoder
from ranker_service.workspace.removal import delete_tree

_CURRENT = "current"


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is; `total` is 0 where it is not known, `token_vector_bytes` an estimate and 0 before it."""

    phase: str
    done: int
    total: int
    token_vector_bytes: int = 0


class Indexer:
    """Makes the indexes of one project's directory, for one encoder and one set of index settings."""

    def __init__(self, directory: Path, encoder: Encoder, settings: IndexSettings) -> None:
        self._indexes = directory / "indexes"
        self._vectors = directory / "vectors" / digest_of(encoder.revision.encode())[:16]
        self._encoder = encoder
        self._settings = settings
        self._chunker = Chunker(settings, encoder)
        self._store: VectorStore | None = None

    def revision(self, memory: EffectiveMemory) -> str:
        """Return the revision of the index that `build` would make of this memory."""
        return index_revision_of(memory.hash, self._chunker, self._encoder, self._settings)

    def open_current(self) -> Snapshot | None:
        """Open the last complete index; None where there is none; raise IndexDamaged where it cannot be trusted."""
        try:
            revision = read_file(self._indexes / _CURRENT).decode("ascii", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IndexDamaged(f"{_CURRENT} cannot be read: {error}") from error
        if not is_digest(revision):
            raise IndexDamaged(f"{_CURRENT} names no index")
        return open_snapshot(self._indexes / revision, self._open_store())

    def build(
        self,
        memory: EffectiveMemory,
        read_body: Callable[[str], bytes],
        previous: Snapshot | None,
        progress: Callable[[BuildProgress], None],
    ) -> Snapshot:
        """Build the memory's index beside the old one and make it the current one."""
        revision = self.revision(memory)
        self._require_own_directory()
        token_vector_bytes = 0

        def note_size(size: int) -> None:
            nonlocal token_vector_bytes
            token_vector_bytes = size

        snapshot = build_snapshot(
            memory=memory,
            read_body=read_body,
            chunker=self._chunker,
            encoder=self._encoder,
            settings=self._settings,
            directory=self._indexes / revision,
            store=self._open_store(),
            previous=previous,
            progress=lambda phase, done, total: progress(BuildProgress(phase, done, total, token_vector_bytes)),
            on_size=note_size,
        )
        self._point_to(revision)
        self._remove_others(revision)
        return snapshot

    def close(self) -> None:
        """Close the vector store; the indexer opens it again when it needs it."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _open_store(self) -> VectorStore:
        if self._store is None:
            self._store = VectorStore.open_or_begin_anew(self._vectors, self._encoder.dimension, self._encoder.revision)
        return self._store

    def _require_own_directory(self) -> None:
        """Take a file or link out of the way that somebody put in the directory's place."""
        for path in (self._indexes, self._vectors.parent, self._vectors):
            if path.is_symlink() or path.is_file():
                path.unlink()

    def _point_to(self, revision: str) -> None:
        pointer = self._indexes / _CURRENT
        if pointer.is_dir() and not pointer.is_symlink():
            delete_tree(pointer)
        replace_file(pointer, revision.encode("ascii"))

    def _remove_others(self, revision: str) -> None:
        for directory in self._indexes.iterdir():
            if directory.is_dir() and is_digest(directory.name) and directory.name != revision:
                delete_tree(directory)

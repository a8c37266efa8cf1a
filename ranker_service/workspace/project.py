"""One project: its layers' commits, its Effective Memory, and the index that ranks."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ranker_service.domain.errors import IndexNotReady, StageFailed
from ranker_service.domain.resource import EffectiveMemory, Layer
from ranker_service.domain.trace import Failure, Stage
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot
from ranker_service.memory.commits import CommitStore
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.memory.overlay import overlay
from ranker_service.ports import CorpusKeeper
from ranker_service.workspace.indexer import BuildProgress, Indexer
from ranker_service.workspace.removal import delete_tree, move_away

_LOG = logging.getLogger(__name__)
IN_USE_TIMEOUT_SECONDS = 60.0
OWN_LAYERS = (Layer.PROJECT, Layer.DRAFT)
STORAGE_PARTS = ("layers", "indexes", "vectors")


class BuildCancelled(Exception):
    """The project's storage is being removed."""


class Project:
    """A project's state; every public method is safe to call from any thread.

    `changed` is notified whenever the memory, the index or a build's progress changes.
    """

    def __init__(
        self, project_id: str, directory: Path, organization: CommitStore, indexer: Indexer, corpora: CorpusKeeper
    ) -> None:
        self.project_id = project_id
        self.changed = threading.Condition()
        self.build: BuildProgress | None = None
        self.build_failure: Failure | None = None
        self._directory = directory
        self._organization = organization
        self._indexer = indexer
        self._corpora = corpora
        self._loading = threading.Lock()
        self._building = threading.Lock()
        self._refreshing = threading.Lock()
        self._snapshot: Snapshot | None = None
        self._users = 0
        self._removing = False
        self._damage: MemoryDamaged | None = None
        self._stores = self._open_stores()
        self._memory = self.refresh()

    @property
    def memory(self) -> EffectiveMemory:
        """The Effective Memory now; raises StageFailed with code memory_damaged where a layer cannot be read."""
        if self._damage is not None:
            raise StageFailed(Stage.EFFECTIVE_MEMORY, "memory_damaged", str(self._damage))
        return self._memory

    def store(self, layer: Layer) -> CommitStore:
        """Return the store of one of the project's own layers, or the organization's."""
        return self._organization if layer is Layer.ORGANIZATION else self._stores[layer]

    def refresh(self) -> EffectiveMemory:
        """Compute the Effective Memory from the layers' heads and announce it before it is used."""
        with self._refreshing:
            memory = self._overlay()
            self._corpora.register(memory, self.body_path)
            with self.changed:
                self._memory = memory
                self.changed.notify_all()
            return memory

    def _overlay(self) -> EffectiveMemory:
        """Return the overlay of the layers; an empty memory, and the damage noted, where one cannot be read."""
        layers = [self._organization, self._stores[Layer.PROJECT], self._stores[Layer.DRAFT]]
        try:
            memory = overlay(self.project_id, *(store.manifest() for store in layers))
        except MemoryDamaged as error:
            _LOG.exception("the memory of project %r cannot be read", self.project_id)
            self._damage = error
            return EffectiveMemory.of(self.project_id, ())
        self._damage = None
        return memory

    def body_path(self, digest: str) -> Path:
        """Return where a body of the memory lies, if any layer has it."""
        return self._store_of(digest).body_path(digest)

    def wanted_revision(self) -> str:
        """Return the revision of the present memory's index."""
        return self._indexer.revision(self.memory)

    def is_current(self) -> bool:
        """Say whether the present memory's index is complete."""
        try:
            snapshot, _ = self.snapshot()
        except (IndexNotReady, StageFailed):
            return False
        return snapshot.index_revision == self.wanted_revision()

    def loaded_snapshot(self) -> Snapshot | None:
        """Return the index if it is in memory."""
        return self._snapshot

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the last complete index and whether this call loaded it.

        Raises IndexNotReady where there is none, StageFailed with code index_damaged where its files are not to be
        trusted; the next build replaces them.
        """
        with self._loading:
            if self._snapshot is not None:
                return self._snapshot, False
            try:
                self._snapshot = self._indexer.open_current()
            except IndexDamaged as error:
                _LOG.warning("index of project %r is damaged and will be rebuilt: %s", self.project_id, error)
                summary = "the index on disk is damaged; it is being rebuilt, try again when EnsureIndex is done"
                raise StageFailed(Stage.INDEX_ENSURE, "index_damaged", summary) from error
            if self._snapshot is None:
                raise IndexNotReady(self.project_id)
            return self._snapshot, True

    def distrust_index(self) -> None:
        """Forget the index that is in memory, since its files were found damaged in use; it does not open again."""
        with self._loading:
            self._snapshot = None

    def build_index(self) -> None:
        """Build the present memory's index unless it is complete; raise whatever a build raises."""
        with self._building:
            if self._removing:
                raise BuildCancelled
            memory = self.memory
            if self.is_current():
                return
            try:
                snapshot = self._indexer.build(memory, self._read_body, self._snapshot, self._report)
                with self._loading:
                    self._snapshot = snapshot
            finally:
                self._report_end()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the storage: it is not removed before every user has left."""
        with self.changed:
            self._users += 1
        try:
            yield
        finally:
            with self.changed:
                self._users -= 1
                self.changed.notify_all()

    def clear(self) -> int:
        """Remove commits, indexes and vectors; return the bytes freed. Undelivered Runs keep their bodies."""
        with self._unused():
            self._corpora.retain(self.project_id)
            freed = sum(delete_tree(move_away(self._directory / name)) for name in STORAGE_PARTS)
            self._stores = self._open_stores()
        with self.changed:
            self._removing = False
        self.refresh()
        return freed

    def move_away(self) -> Path:
        """Take the storage from its place at once, so that another project may have it, and return where it is now.

        What undelivered Runs need is taken over first. Only `close` may follow.
        """
        self._corpora.release(self.project_id)
        return move_away(self._directory)

    def close(self) -> None:
        """Wait until nothing reads or builds any more, and close the files; the project must not be used afterwards."""
        with self._unused():
            pass

    @contextmanager
    def _unused(self) -> Iterator[None]:
        """Wait until nothing builds or reads, forget the index and close its files; hold off the next build and load.

        Raises StageFailed, and nothing is closed, where a reader does not leave in time.
        """
        with self.changed:
            self._removing = True  # the build under way gives up at its next report
        with self._building:
            with self.changed:
                if not self.changed.wait_for(lambda: self._users == 0, IN_USE_TIMEOUT_SECONDS):
                    self._removing = False
                    summary = "activations of the project are still under way: try again"
                    raise StageFailed(Stage.EFFECTIVE_MEMORY, "storage_in_use", summary)
            with self._loading:
                self._snapshot = None
                self._indexer.close()
                yield

    def _open_stores(self) -> dict[Layer, CommitStore]:
        return {layer: CommitStore(self._directory / "layers" / layer.value) for layer in OWN_LAYERS}

    def _read_body(self, digest: str) -> bytes:
        return self._store_of(digest).read_body(digest)

    def _store_of(self, digest: str) -> CommitStore:
        """Return the store that has a body; the organization's where none has."""
        own = [store for store in self._stores.values() if store.body_path(digest).exists()]
        return own[0] if own else self._organization

    def _report(self, progress: BuildProgress) -> None:
        with self.changed:
            if self._removing:
                raise BuildCancelled
            self.build = progress
            self.changed.notify_all()

    def _report_end(self) -> None:
        with self.changed:
            self.build = None
            self.changed.notify_all()

    def collect_garbage(self) -> None:
        """Remove bodies that no head of the project's own layers names."""
        for store in self._stores.values():
            store.collect_garbage()

"""Commits: one layer's resources, published wholly or not at all, and there to stay once `publish` returned.

Below the store's directory: `bodies/` (by digest), `commits/` (manifests by commit id), `head` (the id of the commit
that counts, swapped by rename), `incoming/` (what open drafts received) and `lock`.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ranker_service.domain.digest import is_digest
from ranker_service.domain.errors import CommitConflict
from ranker_service.domain.resource import Layer, Resource
from ranker_service.memory.bodies import Bodies
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.memory.drafts import Changes, CommitMode, DraftResource, receive
from ranker_service.memory.durable import make_directory, read_file, replace_file, sync_files
from ranker_service.memory.manifests import Manifests
from ranker_service.memory.parsers import inspect

__all__ = ["Commit", "CommitDraft", "CommitMode", "CommitStore", "DraftResource"]


@dataclass(frozen=True, slots=True)
class Commit:
    """A published commit: the layer's head now and before (empty: none), and what the sent resources did to it."""

    commit_id: str
    parent_commit_id: str
    resource_count: int
    added_count: int
    changed_count: int
    deleted_count: int


class CommitStore:
    """One layer's commits. Safe from any thread, and from several processes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._incoming = directory / "incoming"
        make_directory(directory)
        make_directory(self._incoming)
        self._bodies = Bodies(directory / "bodies")
        self._manifests = Manifests(directory / "commits", self._bodies.read)
        with self._locked():
            self._sweep()

    def head(self) -> str:
        """Return the id of the commit that counts; empty before the first one."""
        try:
            commit_id = read_file(self._directory / "head").decode("ascii", "replace")
        except FileNotFoundError:
            return ""
        if not is_digest(commit_id):
            raise MemoryDamaged("head", "is not a commit id")
        return commit_id

    def manifest(self) -> tuple[Resource, ...]:
        """Return the resources of the head in resource_id order; raise MemoryDamaged where it cannot be read."""
        known = self._manifests.known(self.head())
        if known is not None:
            return known
        with self._locked():
            return self._manifests.read(self.head())

    def begin(self, layer: Layer, mode: CommitMode, expected_parent: str | None = None) -> "CommitDraft":
        """Open a draft; raise CommitConflict where another head is expected (empty: no commit yet; None: any head)."""
        with self._locked():
            self.check_parent(expected_parent)
            return CommitDraft(self, self._bodies, self._new_directory(), layer, mode, expected_parent)

    def body_path(self, digest: str) -> Path:
        """Return where a body is; raise FieldInvalid for anything but a digest."""
        return self._bodies.path(digest)

    def read_body(self, digest: str) -> bytes:
        """Return a body; raise MemoryDamaged where it is missing or has other bytes."""
        return self._bodies.read(digest)

    def collect_garbage(self, keep_digests: Collection[str] = (), keep_commits: Collection[str] = ()) -> int:
        """Delete bodies and manifests that neither the head nor `keep_commits` need; return how many bytes they had.

        The bodies of `keep_digests` stay too, and so does what open drafts received.
        """
        with self._locked():
            commits = [commit_id for commit_id in (*keep_commits, self.head()) if commit_id]
            digests = set(keep_digests)
            for commit_id in commits:
                digests.update(resource.digest for resource in self._manifests.read(commit_id))
            return self._bodies.delete_except(digests) + self._manifests.delete_except(commits)

    def check_parent(self, expected_parent: str | None) -> str:
        """Return the head; raise CommitConflict where another one is expected."""
        head = self.head()
        if expected_parent is not None and expected_parent != head:
            raise CommitConflict(expected_parent, head)
        return head

    def publish(
        self, layer: Layer, changes: Changes, expected_parent: str | None, received: Collection[Path]
    ) -> Commit:
        """Apply changes to the present head; `received` are synced bodies of what they add, named by their digests."""
        with self._locked():
            parent = self.check_parent(expected_parent)
            outcome = changes.applied_to(self._manifests.read(parent))
            self._bodies.adopt(received)
            commit_id = self._manifests.write(layer, outcome.resources)
            if commit_id != parent:
                replace_file(self._directory / "head", commit_id.encode("ascii"))
        counts = (outcome.added_count, outcome.changed_count, outcome.deleted_count)
        return Commit(commit_id, parent, len(outcome.resources), *counts)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the store's lock; the system lets go of it when the process ends, however it ends."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._directory / "lock", flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _new_directory(self) -> "_DraftDirectory":
        return _DraftDirectory(Path(tempfile.mkdtemp(dir=self._incoming)))

    def _sweep(self) -> None:
        """Delete what drafts of ended processes left behind; an open draft holds the lock of its directory."""
        for path in self._incoming.iterdir():
            if not path.is_dir() or path.is_symlink():
                continue
            abandoned = _DraftDirectory.claim(path)
            if abandoned is not None:
                abandoned.delete()


class _DraftDirectory:
    """A directory that belongs to one open draft, by a lock on it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    @classmethod
    def claim(cls, path: Path) -> Self | None:
        """Take over a directory that no draft holds; None where one does."""
        try:
            return cls(path)
        except BlockingIOError:
            return None

    def delete(self) -> None:
        """Delete the directory and let go of it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._descriptor)


class CommitDraft:
    """A commit under way. As a context manager it discards itself where it was not published. For one thread."""

    def __init__(
        self,
        store: CommitStore,
        bodies: Bodies,
        directory: _DraftDirectory,
        layer: Layer,
        mode: CommitMode,
        expected_parent: str | None,
    ) -> None:
        self._store = store
        self._bodies = bodies
        self._directory: _DraftDirectory | None = directory
        self._layer = layer
        self._expected_parent = expected_parent
        self._changes = Changes(mode)
        self._received: dict[Path, bool] = {}

    def add(self, resource: DraftResource, chunks: Iterable[bytes]) -> None:
        """Receive a resource, whose body `chunks` are.

        Raises FieldInvalid, ResourceIdConflict (its id was sent with another path) or BlobDigestMismatch; the draft is
        then as before.
        """
        announced = resource.checked(self._layer)
        self._changes.check_new(announced)
        body = receive(announced, chunks)
        staged = self._open_directory().path / announced.digest
        if staged not in self._received:
            self._received[staged] = self._bodies.stage(staged, announced.digest, body)
        self._changes.add(announced._replace(parse_state=inspect(announced.media_type, body)))

    def delete(self, resource_id: str) -> None:
        """Remove a resource from the layer; only a patch can."""
        self._open_directory()
        self._changes.delete(resource_id)

    def publish(self) -> Commit:
        """Make the draft the layer's head; once this returned, it survives the end of the process and of the machine.

        A patch without an expected parent applies to whatever is the head by then. Raises CommitConflict, or
        FieldInvalid where a path would be that of two resources; the draft then stays open.
        """
        self._open_directory()
        sync_files(path for path, is_new in self._received.items() if is_new)
        commit = self._store.publish(self._layer, self._changes, self._expected_parent, self._received)
        self.discard()
        return commit

    def discard(self) -> None:
        """Let go of what was received; a second time does nothing."""
        if self._directory is not None:
            self._directory.delete()
            self._directory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def _open_directory(self) -> _DraftDirectory:
        if self._directory is None:
            raise ValueError("the draft was published or discarded")
        return self._directory

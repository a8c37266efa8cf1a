"""The bodies, content-addressed: `<root>/<first two hex digits>/<digest>`, owner-only.

A body is written beside its address, synced, renamed onto it, and its directory synced, so that an address holds a
whole body or none. Nothing at an address is believed without its size and digest.
"""

import hashlib
import itertools
import logging
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from history_service.domain.digest import digest_of, is_digest
from history_service.domain.errors import BlobCorrupt, BlobDigestMismatch, FieldInvalid, WriteFailed
from history_service.store.directory import make_private_directory, sync_directory

logger = logging.getLogger(__name__)

# Not waiting matters only for what is no file, such as a pipe that somebody planted.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DRAFT_PREFIX = ".draft-"
SYNCERS = 16
Signature = tuple[int, int, int, int]


class BlobStore:
    """The bodies below `root`. Safe to use from any thread."""

    def __init__(self, root: Path, *, sweep: bool = True) -> None:
        """Make the directory and, to `sweep`, remove what a killed process left; its data directory must be locked."""
        self.root = root
        make_private_directory(root)
        self._counter = itertools.count()
        self._open_drafts: set[str] = set()
        self._verified: dict[str, Signature] = {}
        self._syncers = ThreadPoolExecutor(SYNCERS, thread_name_prefix="history-sync")
        self.write_failure_count = 0
        for draft in root.glob(f"*/{DRAFT_PREFIX}*") if sweep else ():
            draft.unlink()

    def is_leftover(self, path: Path) -> bool:
        """Say whether a file below the root is a draft that nobody writes any more."""
        if not path.name.startswith(DRAFT_PREFIX) or path.name in self._open_drafts:
            return False
        # One that was written when it was listed has been renamed or removed before it was let go of.
        return os.path.lexists(path)

    def address(self, digest: str) -> Path:
        """Return where the body is or would be; raise FieldInvalid before any path is made of what is no digest."""
        if not is_digest(digest):
            raise FieldInvalid("digest", "must be 64 lower-case hex digits")
        return self.root / digest[:2] / digest

    def holds(self, digest: str, size_bytes: int) -> bool:
        """Say whether the body is whole on disk: a file of this size and digest."""
        try:
            descriptor = os.open(self.address(digest), _READ)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size != size_bytes:
                return False
            signature = (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
            if self._verified.get(digest) == signature:
                return True
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                return False
        self._verified[digest] = signature
        return True

    def read(self, digest: str) -> bytes:
        """Return the body; raise BlobCorrupt when its bytes are not those of the digest, or are gone."""
        try:
            descriptor = os.open(self.address(digest), _READ)
        except OSError as error:
            raise BlobCorrupt(digest, f"cannot be read ({error.strerror})") from error
        with os.fdopen(descriptor, "rb") as file:
            content = file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        if digest_of(content) != digest:
            raise BlobCorrupt(digest, "its bytes have another digest")
        return content

    def distrust(self, digest: str) -> None:
        """Forget that a body was found whole, so that the next upload which names it looks again."""
        self._verified.pop(digest, None)

    def remove(self, digest: str) -> int:
        """Remove a body; return its bytes, 0 when there was none. Only through `Leases.unless_held`."""
        self.distrust(digest)
        path = self.address(digest)
        try:
            size = path.lstat().st_size
            path.unlink()
        except FileNotFoundError:
            return 0
        return size

    def listed(self) -> Iterator[set[str]]:
        """Yield the digests that have a file, one directory after another."""
        for directory in sorted(self.root.glob("??")):
            names = (path.name for path in directory.iterdir())
            yield {name for name in names if is_digest(name) and name.startswith(directory.name)}

    def batch(self) -> "BlobBatch":
        """Begin to write bodies."""
        return BlobBatch(self)

    def sync_files(self, descriptors: Sequence[int]) -> None:
        """Make files durable; many at once, since the file system then commits them together."""
        list(self._syncers.map(os.fsync, descriptors))

    def sync_directories(self, directories: Iterable[Path]) -> None:
        """Make the names in directories of the store durable, and the directories' own."""
        list(self._syncers.map(sync_directory, (*directories, self.root)))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Log and count what the disk refuses, and raise it as WriteFailed."""
        try:
            yield
        except OSError as error:
            logger.exception("history could not write a body")
            self.write_failure_count += 1
            raise WriteFailed("history could not write a body") from error

    def draft(self, digest: str) -> "Draft":
        """Open a new file beside the body's address."""
        directory = self.address(digest).parent
        make_private_directory(directory)
        path = directory / f"{DRAFT_PREFIX}{os.getpid()}-{next(self._counter)}"
        self._open_drafts.add(path.name)
        return Draft(digest, path, os.open(path, _CREATE, 0o600))

    def end_draft(self, draft: "Draft") -> None:
        """Let go of a file that was renamed or removed."""
        os.close(draft.descriptor)
        self._open_drafts.discard(draft.path.name)


@dataclass(slots=True)
class Draft:
    """A body under way."""

    digest: str
    path: Path
    descriptor: int


class BlobBatch:
    """Bodies that reach their addresses together: all are written, synced, renamed, and each directory synced once."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._drafts: list[Draft] = []
        self._open: Draft | None = None
        self._hash = hashlib.sha256()
        self.written_bytes = 0

    def __len__(self) -> int:
        return len(self._drafts)

    def begin(self, digest: str) -> None:
        """Begin a body; the one before must have ended."""
        with self._store.writing():
            self._open = self._store.draft(digest)
        self._drafts.append(self._open)
        self._hash = hashlib.sha256()

    def write(self, content: bytes) -> None:
        """Add bytes to the body begun last."""
        if self._open is None:
            raise ValueError("no body was begun")
        self._hash.update(content)
        self.written_bytes += len(content)
        rest = memoryview(content)
        with self._store.writing():
            while rest:
                rest = rest[os.write(self._open.descriptor, rest) :]

    def end(self) -> None:
        """End the body begun last; raise BlobDigestMismatch when its bytes are not those of its digest."""
        if self._open is None:
            raise ValueError("no body was begun")
        found = self._hash.hexdigest()
        if found != self._open.digest:
            raise BlobDigestMismatch(self._open.digest, f"the bytes sent have the digest {found}")
        self._open = None

    def publish(self) -> None:
        """Make every body durable at its address and forget them."""
        with self._store.writing():
            self._store.sync_files([draft.descriptor for draft in self._drafts])
            for draft in self._drafts:
                draft.path.rename(self._store.address(draft.digest))
            self._store.sync_directories({draft.path.parent for draft in self._drafts})
        self._forget()

    def discard(self) -> None:
        """Remove what was not published."""
        for draft in self._drafts:
            draft.path.unlink(missing_ok=True)
        self._forget()

    def _forget(self) -> None:
        for draft in self._drafts:
            self._store.end_draft(draft)
        self._drafts.clear()
        self._open = None
        self.written_bytes = 0

"""The corpora that Runs need: from the moment a memory is known until history has it and no Run needs it."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

from ranker_service.domain.digest import is_digest
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.memory.durable import make_directory, replace_file
from ranker_service.ports import Clock
from ranker_service.recorder.bodies import SpooledBodies
from ranker_service.recorder.confirmed import ConfirmedMemories
from ranker_service.recorder.episode import Episode
from ranker_service.recorder.manifest import ManifestDamaged, manifest_bytes, read_manifest

_LOG = logging.getLogger(__name__)
REPAIR_SECONDS = 60.0
"""How long until a present memory whose bodies cannot be had is tried again: a commit may repair it."""


class CorpusLost(Exception):
    """A corpus whose manifest or bodies can no longer be had."""


class Availability(Enum):
    """Whether a Run's corpus lets it go."""

    READY = "ready"
    WAITING = "waiting"
    LOST = "lost"


@dataclass(slots=True)
class _Corpus:
    """A corpus with a manifest; `memory` only while it is a project's present one, or its file could not be written."""

    project_id: str
    memory: EffectiveMemory | None


class CorpusSpool:
    """Manifests in `directory`/corpora, bodies that only Runs still need in `directory`/bodies.

    A corpus is needed while it is its project's present memory, while a Run that history has not confirmed has its
    hash, and while any Run of its project is under way. Every public method is safe to call from any thread;
    `run_started`, `run_ended` and `availability` never wait for a file. `on_change` is called with the hash of a corpus
    that became ready or lost.
    """

    def __init__(self, directory: Path, clock: Clock) -> None:
        self.on_change: Callable[[str], None] = lambda _: None
        self._clock = clock
        self._losses = Episode(_LOG, "corpora can be delivered again")
        self._manifests = directory / "corpora"
        make_directory(self._manifests)
        self._bodies = SpooledBodies(directory / "bodies")
        self._confirmed = ConfirmedMemories(self._manifests / "confirmed")
        self._files = threading.Lock()  # held while files change; taken before _state, never after it
        self._state = threading.Condition()
        self._known: dict[str, _Corpus] = {}
        self._wanted: dict[str, int] = {}  # hash -> not before, on the monotonic clock
        self._lost: set[str] = set()
        self._current: dict[str, str] = {}
        self._body_paths: dict[str, Callable[[str], Path]] = {}
        self._pending: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self.owned_bytes = 0
        """Bytes that the spool alone still needs, as of the last `measure`."""

    def recover(self, pending_hashes: Iterable[str]) -> None:
        """Take up what an earlier process left, given the hash of each Run in the journal, oldest first."""
        self._pending.update(pending_hashes)
        paths = {path.stem: path for path in self._manifests.glob("*.json") if is_digest(path.stem)}
        for memory_hash in filter(paths.__contains__, self._pending):
            try:
                memory = read_manifest(paths[memory_hash], memory_hash)
            except (ManifestDamaged, OSError) as error:
                _LOG.warning("a corpus of undelivered Runs is lost unless history has it: %s", error)
                continue
            self._known[memory_hash] = _Corpus(memory.project_id, None)
            if memory_hash not in self._confirmed:
                self._wanted[memory_hash] = 0
        for memory_hash, path in paths.items():
            if memory_hash not in self._known:
                path.unlink()
        self._drop_bodies()
        self.measure()

    def register(self, memory: EffectiveMemory, body_path: Callable[[str], Path]) -> None:
        """Take a memory as its project's present one and have it delivered; `body_path` finds a body by digest."""
        with self._files:
            with self._state:
                self._body_paths[memory.project_id] = body_path
                known = memory.hash in self._known
            if not known:
                self._write_manifest(memory)
            with self._state:
                self._known[memory.hash] = _Corpus(memory.project_id, memory)
                self._current[memory.project_id] = memory.hash
                self._lost.discard(memory.hash)
                self._want(memory.hash)
            self._tidy()

    def retain(self, project_id: str) -> None:
        """Take over the bodies that the project's unconfirmed Runs need; after this their files may be deleted.

        Raises OSError, and then they may not.
        """
        with self._files:
            body_path = self._body_paths.get(project_id)
            if body_path is None:
                return
            for memory_hash in self._needed_by_runs(project_id):
                with suppress(CorpusLost):
                    memory = self.memory(memory_hash)
                    self._bodies.keep((resource.digest for resource in memory.resources), body_path)
            self._measure()

    def release(self, project_id: str) -> None:
        """Take the project as gone: what its unconfirmed Runs need is retained, the rest is forgotten."""
        self.retain(project_id)
        with self._files:
            with self._state:
                self._current.pop(project_id, None)
                self._body_paths.pop(project_id, None)
            self._tidy()

    def run_started(self, project_id: str) -> None:
        """Count a Run under way."""
        with self._state:
            self._running[project_id] += 1

    def run_ended(self, project_id: str, kept_hash: str | None) -> None:
        """Count a Run that is no longer under way, and whose trace is in the journal unless `kept_hash` is None."""
        with self._state:
            if kept_hash is not None:
                self._pending[kept_hash] += 1
            self._running[project_id] -= 1
            if self._running[project_id] <= 0:
                del self._running[project_id]

    def run_settled(self, memory_hash: str) -> None:
        """Count a Run that left the journal; forget what nothing needs any more."""
        with self._state:
            self._pending[memory_hash] -= 1
            if self._pending[memory_hash] > 0:
                return
            del self._pending[memory_hash]
            if memory_hash not in self._known:
                self._lost.discard(memory_hash)
            if len(self._known) == len(self._current) and not len(self._bodies):
                return
        with self._files:
            self._tidy()

    def availability(self, memory_hash: str) -> Availability:
        """Say whether a Run can be sent. One whose corpus nobody here knows can: history may have it, or says so."""
        with self._state:
            if memory_hash in self._lost:
                return Availability.LOST
            waits = memory_hash in self._known and memory_hash not in self._confirmed
            return Availability.WAITING if waits else Availability.READY

    def missing(self, memory_hash: str) -> None:
        """Note that history lacks a corpus: it is put again or, where nobody here knows it, lost."""
        with self._state:
            self._confirmed.discard(memory_hash)
            if memory_hash in self._known:
                self._want(memory_hash)
            else:
                self._lost.add(memory_hash)

    def wait_wanted(self, seconds: float, stopping: threading.Event) -> bool:
        """Wait until a corpus is to be put, at most so long, or until `wake` after `stopping`; say whether one is."""
        with self._state:
            self._state.wait_for(lambda: stopping.is_set() or self._next_wanted() is not None, seconds)
            return self._next_wanted() is not None

    def wake(self) -> None:
        """Have `wait_wanted` look at its event."""
        with self._state:
            self._state.notify_all()

    def next_wanted(self) -> str | None:
        """Return the hash of the corpus to put next, those that Runs wait for first; None when there is none now."""
        with self._state:
            return self._next_wanted()

    def memory(self, memory_hash: str) -> EffectiveMemory:
        """Return a corpus; raise CorpusLost."""
        with self._state:
            corpus = self._known.get(memory_hash)
        if corpus is not None and corpus.memory is not None:
            return corpus.memory
        try:
            return read_manifest(self._path(memory_hash), memory_hash)
        except (ManifestDamaged, FileNotFoundError) as error:
            raise CorpusLost(f"its manifest is lost: {error}") from error

    def open_body(self, project_id: str, digest: str) -> BinaryIO:
        """Open a body of a corpus of the project; raise CorpusLost, or another OSError than FileNotFoundError."""
        with suppress(FileNotFoundError):
            return self._bodies.path(digest).open("rb")
        with suppress(FileNotFoundError, KeyError):
            return self._body_paths[project_id](digest).open("rb")
        with suppress(FileNotFoundError):  # it may have been taken over between the two
            return self._bodies.path(digest).open("rb")
        raise CorpusLost(f"body {digest} is neither in the memory nor in the spool")

    def stored(self, memory_hash: str) -> None:
        """Note that history has a corpus."""
        with self._files:
            try:
                self._confirmed.add(memory_hash)
            except OSError as error:
                _LOG.debug("the spool could not note a confirmed corpus: %s", error)
            with self._state:
                self._wanted.pop(memory_hash, None)
            self._tidy()
        self._losses.end()
        self.on_change(memory_hash)

    def lose(self, memory_hash: str, why: str) -> None:
        """Note that a corpus cannot be had. A project's present memory may be repaired, and is tried again later."""
        with self._state:
            corpus = self._known.get(memory_hash)
            present = corpus is not None and self._current.get(corpus.project_id) == memory_hash
            waiting = self._pending.get(memory_hash, 0)
            if present:
                self._put_off(memory_hash, REPAIR_SECONDS)
            else:
                self._wanted.pop(memory_hash, None)
                self._lost.add(memory_hash)
        if waiting:
            self._losses.begin("the corpus %s of %d Runs cannot be delivered: %s", memory_hash, waiting, why)
        self.on_change(memory_hash)

    def put_off(self, memory_hash: str, seconds: float) -> None:
        """Let other corpora go first for so long."""
        with self._state:
            self._put_off(memory_hash, seconds)

    def measure(self) -> None:
        """Measure `owned_bytes` anew: bodies become the spool's own when the memory deletes its files."""
        with self._files:
            self._measure()

    def _measure(self) -> None:
        self.owned_bytes = self._bodies.owned_bytes()

    def _write_manifest(self, memory: EffectiveMemory) -> None:
        try:
            replace_file(self._path(memory.hash), manifest_bytes(memory))
        except OSError as error:
            _LOG.warning("the manifest of %s is kept in memory only, it cannot be written: %s", memory.hash, error)

    def _path(self, memory_hash: str) -> Path:
        return self._manifests / f"{memory_hash}.json"

    def _want(self, memory_hash: str) -> None:
        if memory_hash not in self._confirmed:
            self._wanted[memory_hash] = 0
            self._state.notify_all()

    def _next_wanted(self) -> str | None:
        now = self._clock.monotonic_us()
        due = [memory_hash for memory_hash, not_before in self._wanted.items() if not_before <= now]
        return next(filter(self._pending.__contains__, due), due[0] if due else None)

    def _put_off(self, memory_hash: str, seconds: float) -> None:
        if memory_hash in self._wanted:
            self._wanted[memory_hash] = self._clock.monotonic_us() + int(seconds * 1_000_000)

    def _needed_by_runs(self, project_id: str | None = None) -> list[str]:
        with self._state:
            return [
                memory_hash
                for memory_hash, corpus in self._known.items()
                if project_id in (None, corpus.project_id)
                and (memory_hash in self._pending or corpus.project_id in self._running)
            ]

    def _tidy(self) -> None:
        """Forget the corpora that nothing needs, and the bodies that no Run needs; `_files` is held."""
        needed = set(self._needed_by_runs())
        with self._state:
            current = set(self._current.values())
            forgotten = [h for h in self._known if h not in needed and h not in current]
            for memory_hash in forgotten:
                del self._known[memory_hash]
                self._wanted.pop(memory_hash, None)
                self._lost.discard(memory_hash)
            superseded = [(h, corpus) for h, corpus in self._known.items() if h not in current and corpus.memory]
        for memory_hash in forgotten:
            self._path(memory_hash).unlink(missing_ok=True)
        for memory_hash, corpus in superseded:
            if self._path(memory_hash).exists():
                corpus.memory = None
        self._drop_bodies()

    def _drop_bodies(self) -> None:
        if not len(self._bodies):
            return
        digests: set[str] = set()
        for memory_hash in self._needed_by_runs():
            with suppress(CorpusLost):
                digests.update(resource.digest for resource in self.memory(memory_hash).resources)
        self._bodies.drop_all_but(digests)
        self._measure()

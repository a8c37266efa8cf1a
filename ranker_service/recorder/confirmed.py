"""Which Effective Memories history said it has; a file, so that a restart need not put them again."""

import os
from pathlib import Path

from ranker_service.domain.digest import is_digest

_MOST = 10_000


class ConfirmedMemories:
    """Hashes, one a line, the newest last. A lost line costs one PutCorpus; a wrong one is corrected by history.

    Membership may be read from any thread; one thread at a time may change it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text("ascii", errors="replace").splitlines() if path.exists() else []
        newest = [line for line in lines if is_digest(line)][-_MOST:]
        self._hashes = set(newest)
        if len(newest) < len(lines):
            path.unlink()
            self._write("".join(f"{line}\n" for line in newest))

    def __contains__(self, memory_hash: str) -> bool:
        return memory_hash in self._hashes

    def add(self, memory_hash: str) -> None:
        """Note that history has it; raise OSError when the note does not reach the file."""
        if memory_hash not in self._hashes:
            self._hashes.add(memory_hash)
            self._write(f"{memory_hash}\n")

    def discard(self, memory_hash: str) -> None:
        """Note, for the life of this process, that history has it no longer."""
        self._hashes.discard(memory_hash)

    def _write(self, text: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)

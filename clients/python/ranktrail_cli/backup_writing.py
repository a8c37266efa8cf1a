"""A backup on its way from the services to a folder."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from ranktrail.storage.v1 import storage_pb2 as pb
from ranktrail_cli.backup_manifest import DATA, NAME, BackupManifest, KeptFile, is_kept_path
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.synchronisation import Progress
from ranktrail_cli.whole_folder import new_file
from ranktrail_client.message_json import message_json

PHASE = "bytes"


class BackupWriter:
    """Writes below a folder what services send; every file is checked against its digest as it comes.

    Raises CommandFailed when something does not come as it was announced, OSError when it cannot be kept.
    """

    def __init__(self, folder: Path) -> None:
        self.problems: list[pb.StorageProblem] = []
        self._folder = folder
        self._files: list[KeptFile] = []
        self._version = ""
        self._open: _OpenFile | None = None

    def take(self, service: str, frames: Iterable[pb.BackupFrame], progress: Progress) -> None:
        """Write one service's files."""
        try:
            is_whole = self._take(service, frames, progress)
        finally:
            if self._open is not None:
                self._open.close()
                self._open = None
        _require(is_whole, service)

    def finish(self, create_time: str) -> BackupManifest:
        """Write the manifest and return it."""
        problems: list[dict[str, Any]] = [message_json(problem) for problem in self.problems]
        files = tuple(sorted(self._files, key=lambda file: file.path))
        manifest = BackupManifest(create_time, self._version, files, tuple(problems))
        with os.fdopen(new_file(self._folder, NAME), "wb") as file:
            file.write(manifest.content())
        return manifest

    def _take(self, service: str, frames: Iterable[pb.BackupFrame], progress: Progress) -> bool:
        """Return whether all came that was announced."""
        first, done, total = len(self._files), 0, 0
        for frame in frames:
            if frame.HasField("start"):
                self._version, total = frame.start.version, frame.start.total_bytes
            if frame.HasField("problem"):
                self.problems.append(frame.problem)
            if frame.HasField("file") or frame.HasField("end"):
                self._end_file(service)
            if frame.HasField("file"):
                _require(is_kept_path(frame.file.path) and frame.file.path.startswith(f"{service}/"), service)
                self._open = _OpenFile.begin(self._folder / DATA, frame.file)
            if frame.content:
                done += self._write(service, frame.content)
                progress.step(PHASE, done, max(done, total))
            if frame.HasField("end"):
                return (frame.end.file_count, frame.end.total_bytes) == (len(self._files) - first, done)
        return False

    def _end_file(self, service: str) -> None:
        if self._open is not None:
            _require(self._open.close(), service)
            self._files.append(self._open.file)
            self._open = None

    def _write(self, service: str, content: bytes) -> int:
        if self._open is None:
            raise _torn(service)
        return self._open.write(content)


class _OpenFile:
    """A file under way."""

    def __init__(self, file: KeptFile, descriptor: int) -> None:
        self.file = file
        self._stream = os.fdopen(descriptor, "wb")
        self._hash = hashlib.sha256()
        self._size = 0

    @classmethod
    def begin(cls, folder: Path, file: pb.BackupFile) -> Self:
        """Make the file."""
        return cls(KeptFile(file.path, file.size_bytes, file.digest), new_file(folder, file.path))

    def write(self, content: bytes) -> int:
        """Add bytes; return how many."""
        self._hash.update(content)
        self._size += len(content)
        return self._stream.write(content)

    def close(self) -> bool:
        """End the file; return whether it is what was announced."""
        self._stream.close()
        return (self._size, self._hash.hexdigest()) == (self.file.size_bytes, self.file.digest)


def _require(condition: bool, service: str) -> None:
    if not condition:
        raise _torn(service)


def _torn(service: str) -> CommandFailed:
    return CommandFailed(f"the {service} sent no whole backup: run it again", Exit.INCOMPLETE)

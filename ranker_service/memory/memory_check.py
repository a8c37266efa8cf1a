"""Checks and copies what the ranker keeps of memories: every layer of every project, and the organization's.

Both work on the files alone, so that they need neither models nor indexes, which are built anew where they are missing.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.digest import digest_of, is_digest
from ranker_service.memory.durable import read_file
from ranker_service.memory.layer_files import ADVICE, LayerFiles
from ranktrail_serving.file_faults import DIRECTORY_MODE, file_digest, mode_problem, name_below
from ranktrail_serving.storage import (
    PIECE_BYTES,
    BackupEnd,
    BackupFile,
    BackupPart,
    BackupStart,
    Event,
    Problem,
    Progress,
)

PHASE = "layers"


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """The ranker's part of a data directory."""

    directory: Path

    def check(self, *, repair: bool) -> Iterator[Event]:
        """Yield what is wrong, and progress by layers; with `repair`, put modes right."""
        layers = self._layers()
        for path in (self.directory, self.directory / "projects"):
            yield from mode_problem(path, DIRECTORY_MODE, self._named(path), repair=repair)
        for done, layer in enumerate(layers):
            yield Progress(PHASE, done, len(layers))
            yield from layer.problems(repair=repair)
        yield Progress(PHASE, len(layers), len(layers))
        # Last, since a project that has just got its first commit gets its identity right after it.
        for project in self._projects():
            if any(project.glob("layers/*/head")) and not _knows_itself(project) and project.exists():
                detail = f"project.json does not say whose storage this is, so it is left alone: {ADVICE}"
                yield Problem("identity_damaged", self._named(project), detail)

    def backup(self) -> Generator[BackupPart]:
        """Yield a copy in pieces of at most 1 MiB; a body that is missing or damaged is a problem, and left out."""
        with ExitStack() as held:
            files = {self._named(path): path for path in self._single_files()}
            problems: list[Problem] = []
            for layer in self._layers():
                problems += [one for one in layer.problems(repair=False) if one.kind != "mode"]
                with suppress(FileNotFoundError):
                    copy = held.enter_context(layer.copied())
                    files |= {self._named(layer.directory / name): path for name, path in copy.items()}
            yield BackupStart(len(files), sum(path.stat().st_size for path in files.values()))
            yield from problems
            count, total = 0, 0
            damaged = {problem.subject for problem in problems}
            for name in sorted(files.keys() - damaged):
                size_bytes = files[name].stat().st_size
                yield BackupFile(name, size_bytes, file_digest(files[name]))
                yield from _pieces(files[name])
                count, total = count + 1, total + size_bytes
            yield BackupEnd(count, total)

    def _layers(self) -> list[LayerFiles]:
        places = [self.directory / "organization"]
        places += [layer for project in self._projects() for layer in sorted(project.glob("layers/*"))]
        return [LayerFiles(place, self.directory.parent) for place in places if (place / "head").exists()]

    def _projects(self) -> list[Path]:
        """Return the storage of every project; what is on its way out has another name."""
        return sorted(path for path in self.directory.glob("projects/*") if is_digest(path.name))

    def _single_files(self) -> Iterator[Path]:
        yield from (path for path in [self.directory / "encoder.json"] if path.is_file())
        yield from (path for path in sorted(self.directory.glob("profiles/*.toml")) if path.is_file())
        yield from (
            path for path in sorted(self.directory.glob("projects/*/project.json")) if is_digest(path.parent.name)
        )

    def _named(self, path: Path) -> str:
        return name_below(path, self.directory.parent)


def _knows_itself(project: Path) -> bool:
    try:
        return project.name == digest_of(json.loads(read_file(project / "project.json"))["project_id"].encode())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece

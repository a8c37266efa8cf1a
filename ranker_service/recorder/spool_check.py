"""Checks the spool: the journal's records, and the manifests and bodies that undelivered Runs need."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.digest import is_digest
from ranker_service.recorder.manifest import ManifestDamaged, read_manifest
from ranker_service.recorder.record import Damaged, scan
from ranktrail_serving.file_faults import FILE_MODE, body_fault, mode_problem, name_below
from ranktrail_serving.storage import EVENT_EVERY, Event, Problem, Progress

PHASE = "journal"


@dataclass(frozen=True, slots=True)
class SpoolCheck:
    """Looks at the files of a spool; a recorder may be at work there, so one that has gone meanwhile is well."""

    directory: Path
    data_dir: Path

    def check(self, *, repair: bool) -> Iterator[Event]:
        """Yield what is wrong, and progress by files; with `repair`, put modes right."""
        paths = [
            *sorted(self.directory.glob("*.journal")),
            *self._named_by_digest("corpora"),
            *self._named_by_digest("bodies"),
        ]
        for done, path in enumerate(paths):
            if done % EVENT_EVERY == 0:
                yield Progress(PHASE, done, len(paths))
            yield from mode_problem(path, FILE_MODE, self._named(path), repair=repair)
            with suppress(FileNotFoundError):
                yield from self._problems(path)
        yield Progress(PHASE, len(paths), len(paths))

    def _named_by_digest(self, folder: str) -> list[Path]:
        return sorted(path for path in (self.directory / folder).glob("*") if is_digest(path.stem))

    def _problems(self, path: Path) -> Iterator[Problem]:
        if path.suffix == ".journal":
            for part in scan(path.read_bytes()):
                # A record without an end is being written, or was when its process was killed: no reply left for it.
                if isinstance(part, Damaged) and not part.torn:
                    detail = f"{part.length} bytes at {part.offset} are no whole Run: they are skipped"
                    yield Problem("journal_damaged", self._named(path), detail)
        elif path.parent.name == "corpora":
            try:
                read_manifest(path, path.stem)
            except ManifestDamaged as error:
                yield Problem("manifest_digest", self._named(path), str(error))
        else:
            fault = body_fault(path, path.name, path.stat().st_size)
            if fault is not None and path.exists():
                yield Problem(fault.kind, self._named(path), fault.detail)

    def _named(self, path: Path) -> str:
        return name_below(path, self.data_dir)

"""One layer's files, looked at from beside its store: whether they are whole, and a copy of what counts."""

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.digest import digest_of, is_digest
from ranker_service.memory.durable import make_directory, read_file
from ranktrail_serving.file_faults import DIRECTORY_MODE, FILE_MODE, Fault, body_fault, mode_problem, name_below
from ranktrail_serving.storage import Problem

ADVICE = "sync its folder again, after `ClearProjectStorage` if that does not help"


@dataclass(frozen=True, slots=True)
class LayerFiles:
    """The files of the layer in a directory; a store may be at work there."""

    directory: Path
    data_dir: Path

    def problems(self, *, repair: bool) -> Iterator[Problem]:
        """Yield what is wrong with the head, its manifest and its bodies."""
        yield from self._modes(repair=repair)
        for path, fault in self._faults(self._head(), repair=repair):
            yield fault if isinstance(fault, Problem) else Problem(fault.kind, self._named(path), fault.detail)

    @contextmanager
    def copied(self) -> Iterator[dict[str, Path]]:
        """Lend the files that count as they are now, by their names in the directory; work goes on meanwhile.

        Links to them lie where unfinished drafts do, so that the next start removes what a killed process leaves.
        What is missing is not among them. Raises FileNotFoundError where the layer has gone.
        """
        with self._locked():
            head, incoming = self._head(), self.directory / "incoming"
            make_directory(incoming)
            folder = Path(tempfile.mkdtemp(dir=incoming))
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            files = {}
            for number, name in enumerate(self._names(head)):
                with suppress(FileNotFoundError):
                    files[name] = _linked(self.directory / name, folder / str(number))
        try:
            yield files
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)

    def _head(self) -> str:
        try:
            return read_file(self.directory / "head").decode("ascii", "replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"cannot be read ({error.strerror})"

    def _rows(self, head: str) -> list[tuple[str, int]] | None:
        """Return (digest, bytes) of the head's bodies; None where its manifest is not what its name says."""
        try:
            content = read_file(self.directory / "commits" / f"{head}.json")
        except OSError:
            return None
        if digest_of(content) != head:
            return None
        return sorted({(row[5], row[6]) for row in json.loads(content)["resources"]})

    def _names(self, head: str) -> list[str]:
        if not is_digest(head):
            return []
        bodies = [f"bodies/{digest[:2]}/{digest}" for digest, _ in self._rows(head) or ()]
        return ["head", f"commits/{head}.json", *bodies]

    def _modes(self, *, repair: bool) -> Iterator[Problem]:
        for path in (
            self.directory,
            self.directory / "bodies",
            self.directory / "commits",
            self.directory / "incoming",
        ):
            yield from mode_problem(path, DIRECTORY_MODE, self._named(path), repair=repair)
        yield from mode_problem(self.directory / "head", FILE_MODE, self._named(self.directory / "head"), repair=repair)

    def _faults(self, head: str, *, repair: bool) -> Iterator[tuple[Path, Fault | Problem]]:
        if not head:
            return
        rows = self._rows(head) if is_digest(head) else None
        if rows is None:
            path = self.directory / "head"
            if self._head() == head:
                yield path, Fault("head_damaged", f"the commit that it names cannot be read: {ADVICE}")
            return
        for digest, size_bytes in rows:
            path = self.directory / "bodies" / digest[:2] / digest
            for problem in mode_problem(path, FILE_MODE, self._named(path), repair=repair):
                yield path, problem
            # Another head may count by now, whose collection removes what only this one needed.
            if body_fault(path, digest, size_bytes) is not None and self._head() == head:
                fault = body_fault(path, digest, size_bytes)
                if fault is not None:
                    yield path, Fault(fault.kind, f"{fault.detail}: {ADVICE}")

    def _named(self, path: Path) -> str:
        return name_below(path, self.data_dir)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the store's lock, as its own calls do."""
        descriptor = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _linked(source: Path, target: Path) -> Path:
    """Link to a file; copy it where the file system has no links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target, follow_symlinks=False)
    return target

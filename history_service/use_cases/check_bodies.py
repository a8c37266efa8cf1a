"""Checks every body that has a row: its bytes and its mode."""

from collections.abc import Iterator
from dataclasses import dataclass

from history_service.store import inspected
from history_service.use_cases.check_files import CheckFiles
from ranktrail_serving.file_faults import FILE_MODE, Fault, body_fault
from ranktrail_serving.storage import EVENT_EVERY, Event, Problem, Progress

PHASE = "bodies"
ADVICE = "activate over a memory that still holds it, and it is put again"


@dataclass(frozen=True, slots=True)
class CheckBodies:
    """Reads every body once."""

    files: CheckFiles

    def check(self, repair: bool) -> Iterator[Event]:
        """Yield what is wrong, and progress; with `repair`, list bodies that lack their row and put modes right."""
        with self.files.database.reading() as db:
            total, unlisted = inspected.count(db, "retrieval_corpus_blobs"), inspected.unlisted_bodies(db)
            sizes = inspected.differing_sizes(db)
        for digest, size_bytes in unlisted:
            yield self._unlisted(digest, size_bytes, repair)
        for digest, said, listed in sizes:
            yield Problem("count", f"body {digest}", f"manifests say {said} bytes and its row says {listed}")
        yield from self._listed(total, repair)

    def _listed(self, total: int, repair: bool) -> Iterator[Event]:
        done, last = 0, ""
        while rows := self._rows_after(last):
            for digest, size_bytes in rows:
                yield from self._body(digest, size_bytes, repair)
            done, last = done + len(rows), rows[-1][0]
            yield Progress(PHASE, min(done, total), total)
        yield Progress(PHASE, total, total)

    def _rows_after(self, digest: str) -> list[tuple[str, int]]:
        with self.files.database.reading() as db:
            return inspected.blobs_after(db, digest, EVENT_EVERY)

    def _body(self, digest: str, size_bytes: int, repair: bool) -> Iterator[Problem]:
        path = self.files.blobs.address(digest)
        yield from self.files.mode(path, FILE_MODE, repair)
        if body_fault(path, digest, size_bytes) is None:
            return
        self.files.blobs.distrust(digest)
        fault = self._lasting_fault(digest)
        if fault is not None:
            yield Problem(fault.kind, self.files.subject(path), f"{fault.detail}: {ADVICE}")

    def _lasting_fault(self, digest: str) -> Fault | None:
        """Look again at a body: a collection or an upload may have come between its row and its file."""
        with self.files.collect.alone(), self.files.database.reading() as db:
            size_bytes = inspected.size_of_blob(db, digest)
            return None if size_bytes is None else body_fault(self.files.blobs.address(digest), digest, size_bytes)

    def _unlisted(self, digest: str, size_bytes: int, repair: bool) -> Problem:
        repairable = body_fault(self.files.blobs.address(digest), digest, size_bytes) is None
        detail = "manifests name it and it has no row" + ("" if repairable else f", nor a whole file: {ADVICE}")
        repaired = repair and repairable and self.files.adopt(digest, size_bytes)
        return Problem("body_unlisted", f"body {digest}", detail, repairable, repaired)

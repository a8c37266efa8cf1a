"""Exports Evaluation Cases, with what they rest on, as one document."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from history_service.domain.case import EvaluationCase
from history_service.domain.clock import Clock
from history_service.domain.limits import MAX_EXPORT_SECONDS
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.measured_case import measured
from history_service.evaluation.report import report_of
from history_service.evaluation.results import CaseReport
from history_service.exchange import beir, openinference, trec
from history_service.exchange.archive import tar_of
from history_service.exchange.canonical import framed
from history_service.exchange.fixture import Element, FixtureWriter, body_element
from history_service.exchange.fixture_cases import (
    case_element,
    case_json,
    report_element,
    resource_element,
    version_element,
)
from history_service.store import exported, frozen_corpora, judgments
from history_service.store.blobs import BlobStore
from history_service.store.cases import StoredCase, cases_by_id
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.store.spool import spooled
from history_service.use_cases.benchmark import chosen_cases
from history_service.use_cases.judged_cases import judged_cases
from history_service.use_cases.measured_cases import MeasuredCases
from ranktrail_serving.errors import Overloaded

Pieces = Iterator[bytes]


@dataclass(frozen=True, slots=True)
class ExportSet:
    """Exports. `directory` takes what cannot be sent before all of it is made."""

    database: Database
    blobs: BlobStore
    leases: Leases
    measured: MeasuredCases
    directory: Path
    now: Clock
    monotonic: Clock

    def export(self, form: str, project_id: str | None, case_ids: Sequence[str]) -> Generator[bytes]:
        """Yield the chosen cases as a document of a form, in frames of 1 MiB, from one state of the database.

        That state is held until the last frame or `close()`. Raise CaseNotFound as `chosen_cases` does, BlobCorrupt
        before anything of a damaged body is yielded, and Overloaded when MAX_EXPORT_SECONDS have passed.
        """
        until = self.monotonic() + MAX_EXPORT_SECONDS * 1_000_000
        with self.database.reading() as db:
            chosen = chosen_cases(db, project_id, case_ids)
            digests = exported.body_digests(db, {stored.case.corpus_hash for stored in chosen})
        # Held before the state that is exported begins, so what that state refers to is not collected meanwhile.
        with self.leases.hold(digests), self.database.reading() as db:
            present = cases_by_id(db, [stored.case.case_id for stored in chosen])
            present.sort(key=lambda stored: stored.case.case_id)
            for frame in framed(_FORMS[form](self, db, present)):
                if self.monotonic() > until:
                    raise Overloaded("seconds of one export", MAX_EXPORT_SECONDS)
                yield frame

    def fixture(self, db: Connection, chosen: Sequence[StoredCase]) -> Pieces:
        """Yield a fixture."""
        writer = FixtureWriter()
        corpora = sorted({stored.case.corpus_hash: stored.case for stored in chosen}.items())
        digests = exported.body_digests(db, [corpus_hash for corpus_hash, _ in corpora])
        yield from writer.array("bodies", (body_element(digest, self.blobs.read(digest)) for digest in digests))
        report = report_of(self.measured.of(db, chosen), with_comparisons=False)
        yield from writer.array("cases", _cases(db, chosen, report.cases), case_json)
        yield from writer.array("corpora", (_corpus(case) for _, case in corpora))
        yield from writer.head(self.now())
        yield from writer.array("judgment_versions", _versions(db, chosen))
        yield from writer.member("report", report_element(report))
        yield from writer.array("resources", _resources(db, [corpus_hash for corpus_hash, _ in corpora]))
        yield from writer.end()

    def trec(self, db: Connection, chosen: Sequence[StoredCase]) -> Pieces:
        """Yield a tar of TREC files."""
        with ExitStack() as opened:
            files = {name: opened.enter_context(spooled(self.directory)) for name in trec.FILES}
            trec.write_trec(((stored.case, judged) for stored, judged in _judged(db, chosen)), files)
            yield from tar_of(files)

    def beir(self, db: Connection, chosen: Sequence[StoredCase]) -> Pieces:
        """Yield a tar of a BEIR folder."""
        hashes = {stored.case.corpus_hash for stored in chosen}
        documents = [beir.Document(*row) for row in exported.documents(db, hashes)]
        names = beir.DocumentNames(documents)
        with ExitStack() as opened:
            files = {name: opened.enter_context(spooled(self.directory)) for name in beir.FILES}
            files[beir.CORPUS].writelines(beir.corpus_lines(documents, names, self.blobs.read))
            files[beir.QRELS].write(beir.qrels_head())
            for stored in chosen:
                beir.write_query(stored.case, files[beir.QUERIES])
                files[beir.QRELS].write(_beir_qrels(db, stored, names))
            yield from tar_of(files)

    def openinference(self, db: Connection, chosen: Sequence[StoredCase]) -> Pieces:
        """Yield OTLP JSON lines."""
        for stored, judged in _judged(db, chosen):
            trace = exported.trace_of(db, stored.run_sequence)
            yield openinference.span_line(stored.case, trace, judged.judgments, measured(judged).report)


_FORMS: dict[str, Callable[[ExportSet, Connection, Sequence[StoredCase]], Pieces]] = {
    "fixture": ExportSet.fixture,
    "trec": ExportSet.trec,
    "beir": ExportSet.beir,
    "openinference": ExportSet.openinference,
}


def _judged(db: Connection, chosen: Sequence[StoredCase]) -> Iterator[tuple[StoredCase, JudgedCase]]:
    return zip(chosen, judged_cases(db, chosen), strict=True)


def _cases(db: Connection, chosen: Sequence[StoredCase], reports: Sequence[CaseReport]) -> Iterator[Element]:
    # Both are in case_id order.
    for stored, report in zip(chosen, reports, strict=True):
        yield case_element(stored.case, exported.trace_of(db, stored.run_sequence), report)


def _corpus(case: EvaluationCase) -> Element:
    return {"corpus_hash": case.corpus_hash, "project_id": case.project_id, "resource_count": case.resource_count}


def _resources(db: Connection, corpus_hashes: Sequence[str]) -> Iterator[Element]:
    for corpus_hash in corpus_hashes:
        for resource in exported.resources_of(db, corpus_hash):
            yield resource_element(corpus_hash, resource)


def _versions(db: Connection, chosen: Sequence[StoredCase]) -> Iterator[Element]:
    for stored in chosen:
        for version in exported.versions_of(db, stored.sequence):
            yield version_element(stored.case.case_id, version)


def _beir_qrels(db: Connection, stored: StoredCase, names: beir.DocumentNames) -> bytes:
    present = judgments.judgments_of(db, stored.sequence, stored.case.judgment_version)
    wanted = sorted({judgment.resource_id for judgment in present})
    found = frozen_corpora.resources_by_id(db, stored.case.corpus_hash, wanted)
    known = {resource.resource_id: names.name(resource.resource_id, resource.digest) for resource in found}
    return beir.qrels_lines(stored.case.case_id, present, known.__getitem__)

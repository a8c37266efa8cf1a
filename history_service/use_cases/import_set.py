"""Imports an exported set of Evaluation Cases, wholly or not at all.

What arrives lies in a file without a name until all of it is checked. Bodies are then put on disk, under leases, and
everything else goes into the database in one transaction; bodies of a set that is refused there are collected later.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from history_service.domain.case import JudgmentVersion
from history_service.domain.clock import Clock
from history_service.domain.errors import FieldInvalid, FixtureInvalid, RunConflict, WriteFailed
from history_service.domain.limits import MAX_FIXTURE_BYTES
from history_service.exchange.fixture import Element, body_of
from history_service.exchange.fixture_cases import (
    case_of,
    pinned_element,
    resource_of,
    run_element,
    trace_of,
    version_element,
    version_of,
)
from history_service.exchange.fixture_check import SetContents
from history_service.exchange.fixture_reader import FixtureFile
from history_service.store import cases, corpora, exported, frozen_corpora, judgments, runs
from history_service.store.blobs import BlobStore
from history_service.store.cases import StoredCase
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.store.leases import Leases
from history_service.store.spool import spooled
from history_service.use_cases.changes import Changes
from history_service.use_cases.check_judgments import Judgeable, check_judgments, check_size
from history_service.use_cases.put_corpus import MAX_BATCH_BLOBS, MAX_BATCH_BYTES
from history_service.use_cases.record_run import record_trace


@dataclass(frozen=True, slots=True)
class Imported:
    """Cases that are new here, and cases that were here, the same."""

    new_count: int
    existing_count: int


@dataclass(frozen=True, slots=True)
class ImportSet:
    """Imports. `directory` takes what arrives."""

    database: Database
    blobs: BlobStore
    leases: Leases
    changes: Changes
    directory: Path
    now: Clock

    def read(self, pieces: Iterable[bytes]) -> Imported:
        """Import the fixture whose bytes these are.

        Raise FixtureInvalid, which names the field, BlobDigestMismatch, or FieldInvalid when it is too large.
        """
        with spooled(self.directory) as file:
            _receive(pieces, file)
            fixture = FixtureFile(file)
            contents = fixture.check()
            with self.leases.hold(contents.body_sizes):
                self._store_bodies(fixture)
                imported = self.database.write(lambda db: _insert(db, fixture, contents, self.now())).result()
        self.changes.tell()
        return imported

    def _store_bodies(self, fixture: FixtureFile) -> None:
        batch = self.blobs.batch()
        try:
            for field, element in fixture.elements("bodies"):
                if self.blobs.holds(element["digest"], element["size_bytes"]):
                    continue
                batch.begin(element["digest"])
                batch.write(body_of(element, field))
                batch.end()
                if len(batch) >= MAX_BATCH_BLOBS or batch.written_bytes >= MAX_BATCH_BYTES:
                    batch.publish()
            batch.publish()
        finally:
            batch.discard()


def _receive(pieces: Iterable[bytes], file: BinaryIO) -> None:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_FIXTURE_BYTES:
            problem = f"has more than {MAX_FIXTURE_BYTES} bytes: export fewer cases"
            raise FieldInvalid("content", problem, MAX_FIXTURE_BYTES)
        try:
            file.write(piece)
        except OSError as error:
            raise WriteFailed("history could not keep what was sent") from error
    file.flush()


def _insert(db: Connection, fixture: FixtureFile, contents: SetContents, now_us: int) -> Imported:
    corpora.insert_blobs(db, contents.body_sizes.items(), now_us)
    _insert_corpora(db, fixture, contents.corpus_projects, now_us)
    existing: set[str] = set()
    for field, element in fixture.elements("cases"):
        stored = cases.case_by_id(db, element["case_id"])
        if stored is None:
            _insert_case(db, field, element)
        else:
            existing.add(stored.case.case_id)
            wanted = {name: value for name, value in element.items() if name != "report"}
            _require_same(field, wanted, pinned_element(stored.case, exported.trace_of(db, stored.run_sequence)))
    _insert_versions(db, fixture, existing)
    return Imported(contents.case_count - len(existing), len(existing))


def _insert_corpora(db: Connection, fixture: FixtureFile, projects: Mapping[str, str], now_us: int) -> None:
    elements = (element for _, element in fixture.elements("resources"))
    for corpus_hash, members in groupby(elements, key=itemgetter("corpus_hash")):
        if not corpora.is_stored(db, corpus_hash, projects[corpus_hash]):
            corpora.insert_resources(db, corpus_hash, map(resource_of, members))
    for corpus_hash, project_id in projects.items():
        frozen_corpora.freeze(db, corpus_hash, project_id, now_us)


def _insert_case(db: Connection, field: str, element: Element) -> None:
    trace = trace_of(element["run"], f"{field}.run")
    run_id = trace.start.run_id
    pinned = cases.case_of_run(db, run_id)
    if pinned is not None:
        raise FixtureInvalid(f"{field}.run_id", f"is pinned here by case {pinned.case_id}")
    try:
        known = record_trace(db, trace)
    except RunConflict as error:
        raise FixtureInvalid(f"{field}.run", f"is another trace than the one that is here as {run_id}") from error
    run = runs.find_run(db, run_id)
    if run is None:
        raise LookupError(f"Run {run_id} was not recorded")
    if known:
        _require_same(f"{field}.run", element["run"], run_element(exported.trace_of(db, run.sequence)))
    cases.insert_case(db, case_of(element, field), run.sequence)


def _insert_versions(db: Connection, fixture: FixtureFile, existing: set[str]) -> None:
    for case_id, versions in groupby(fixture.elements("judgment_versions"), key=lambda pair: pair[1]["case_id"]):
        stored = cases.case_by_id(db, case_id)
        if stored is None:
            raise LookupError(f"case {case_id} was not inserted")
        if case_id in existing:
            _require_same_versions(db, stored, versions)
            continue
        units = {one.unit_key: one.resource_id for one in exported.trace_of(db, stored.run_sequence).candidates}
        for field, element in versions:
            version = version_of(element, field)
            _check_judgments(db, stored, field, version, units)
            judgments.insert_version(db, stored.sequence, version)


def _check_judgments(
    db: Connection, stored: StoredCase, field: str, version: JudgmentVersion, units: Mapping[str, str]
) -> None:
    wanted = sorted({judgment.resource_id for judgment in version.judgments})
    known = frozen_corpora.resources_by_id(db, stored.case.corpus_hash, wanted)
    try:
        check_size(version.judgments)
        check_judgments(version.judgments, Judgeable(frozenset(one.resource_id for one in known), units))
    except FieldInvalid as error:
        problem = str(error).removeprefix(f"{error.field} ")
        raise FixtureInvalid(f"{field}.{error.field}", problem) from error


def _require_same_versions(db: Connection, stored: StoredCase, versions: Iterator[tuple[str, Element]]) -> None:
    # As many came as there are: the present version is the same, and none is missing here or there.
    for (field, element), version in zip(versions, exported.versions_of(db, stored.sequence), strict=True):
        _require_same(field, element, version_element(stored.case.case_id, version))


def _require_same(field: str, wanted: Element, stored: Element) -> None:
    """Raise FixtureInvalid, naming the field, when something else is here under the same id."""
    for name, value in wanted.items():
        if value != stored[name]:
            raise FixtureInvalid(f"{field}.{name}", "differs from what is here under the same id")

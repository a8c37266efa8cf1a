"""Answers what Evaluation Cases are; every answer comes from one state of the database."""

from dataclasses import dataclass

from history_service.domain.case import EvaluationCase, Judgment, JudgmentVersion
from history_service.domain.corpus import Resource
from history_service.domain.errors import CaseNotFound
from history_service.domain.limits import MAX_JUDGMENT_BYTES
from history_service.store import cases, frozen_corpora, judgments
from history_service.store.cases import Position, StoredCase
from history_service.store.connection import Connection
from history_service.store.database import Database

MAX_PAGE_JUDGMENT_BYTES = 2 * MAX_JUDGMENT_BYTES
"""Text of the judgments on one page of versions; a page has one version at least."""


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """Some resources of a corpus, and how many there are on all pages."""

    resources: list[Resource]
    resource_count: int


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Some versions of a case's judgments, newest first, and whether older ones follow."""

    versions: list[JudgmentVersion]
    more: bool


@dataclass(frozen=True, slots=True)
class ReadCases:
    """Reads."""

    database: Database

    def one(self, case_id: str) -> tuple[EvaluationCase, list[Judgment]]:
        """Return a case and its present judgments; raise CaseNotFound."""
        with self.database.reading() as db:
            stored = known_case(db, case_id)
            return stored.case, judgments.judgments_of(db, stored.sequence, stored.case.judgment_version)

    def page(
        self, project_id: str | None, category: str | None, after: Position | None, limit: int
    ) -> list[StoredCase]:
        """Return at most `limit` cases, newest first, that follow the position `after`."""
        with self.database.reading() as db:
            return cases.page_of_cases(db, project_id, category, after, limit)

    def resources(self, case_id: str, text: str, after: str | None, limit: int) -> CorpusPage:
        """Return at most `limit` resources of the corpus, in resource_id order; raise CaseNotFound.

        Where there is a text, only those whose id, path or title holds it, without regard to case.
        """
        with self.database.reading() as db:
            case = known_case(db, case_id).case
            if not text:
                page = frozen_corpora.page_of_resources(db, case.corpus_hash, after, limit)
                return CorpusPage(page, case.resource_count)
            found = frozen_corpora.ids_with_text(db, case.corpus_hash, text)
            wanted = [resource_id for resource_id in found if after is None or resource_id > after][:limit]
            return CorpusPage(frozen_corpora.resources_by_id(db, case.corpus_hash, wanted), len(found))

    def versions(self, case_id: str, before: int | None, limit: int) -> VersionPage:
        """Return at most `limit` versions that are older than `before`, fewer where they are large.

        Raise CaseNotFound.
        """
        versions: list[JudgmentVersion] = []
        size = 0
        with self.database.reading() as db:
            sequence = known_case(db, case_id).sequence
            for head in judgments.versions_of(db, sequence, before, limit + 1):
                found = tuple(judgments.judgments_of(db, sequence, head.judgment_version))
                size += sum(_size(judgment) for judgment in found)
                if len(versions) == limit or (versions and size > MAX_PAGE_JUDGMENT_BYTES):
                    return VersionPage(versions, more=True)
                versions.append(JudgmentVersion(head.judgment_version, head.author, head.judge_time_us, found))
        return VersionPage(versions, more=False)


def known_case(db: Connection, case_id: str) -> StoredCase:
    """Return the case of this id; raise CaseNotFound."""
    stored = cases.case_by_id(db, case_id)
    if stored is None:
        raise CaseNotFound(case_id)
    return stored


def _size(judgment: Judgment) -> int:
    return sum(len(text.encode("utf-8")) for text in (judgment.resource_id, judgment.unit_key or "", judgment.notes))

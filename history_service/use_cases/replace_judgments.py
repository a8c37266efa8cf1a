"""Replaces a case's judgments by compare-and-set."""

import logging
from dataclasses import dataclass, replace

from history_service.domain import limits
from history_service.domain.case import EvaluationCase, Judgment, JudgmentVersion, in_order
from history_service.domain.clock import Clock
from history_service.domain.digest import canonical_json, digest_of
from history_service.domain.errors import CaseNotFound, FieldInvalid
from history_service.store import cases, judgments
from history_service.store.connection import Connection
from history_service.store.database import Database
from history_service.use_cases.check_judgments import check_judgments, check_size, judgeable
from history_service.use_cases.delete_case import conflict
from history_service.use_cases.measured_cases import MeasuredCases

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A new judgment set as somebody sent it, unchecked; a relevance that was not sent is -1."""

    case_id: str
    expected_version: int
    author: str
    request_id: str
    judgments: tuple[Judgment, ...]

    @property
    def digest(self) -> str:
        """Digest of what the sender wants; the version it saw is no part of it, since a retry may have read again."""
        rows = [
            [one.resource_id, one.unit_key, one.relevance, one.missed, one.notes, one.source]
            for one in in_order(self.judgments)
        ]
        return digest_of(canonical_json([self.author, rows]))


@dataclass(frozen=True, slots=True)
class StandingVersion:
    """What a replacement made."""

    judgment_version: int
    judge_time_us: int


@dataclass(frozen=True, slots=True)
class ReplaceJudgments:
    """Replaces whole judgment sets."""

    database: Database
    measured: MeasuredCases
    now: Clock

    def replace(self, wanted: Replacement) -> StandingVersion:
        """Replace the set, if its version is the expected one.

        A request that was answered gets that answer, whatever the version. Raise, in this order, CaseNotFound,
        JudgmentConflict, FieldInvalid.
        """
        # Checked before the write, which it would hold up; raised inside it, where its turn is.
        problem, digest = self._problem(wanted), wanted.digest
        standing = self.database.write(lambda db: self._replace(db, wanted, digest, problem)).result()
        self._measure(wanted.case_id)
        return standing

    def _measure(self, case_id: str) -> None:
        """Measure the case now, so that a report over many has little left to do."""
        try:
            with self.database.reading() as db:
                stored = cases.case_by_id(db, case_id)
                if stored is not None:
                    self.measured.learn(db, stored)
        except Exception:
            # The judgments are stored, and whoever sent them is to know that.
            logger.exception("history could not measure case %s; a report will try again", case_id)

    def _problem(self, wanted: Replacement) -> FieldInvalid | None:
        try:
            _check_request(wanted)
            with self.database.reading() as db:
                stored = cases.case_by_id(db, wanted.case_id)
                allowed = None if stored is None else judgeable(db, stored, wanted.judgments)
            if allowed is not None:
                check_judgments(wanted.judgments, allowed)
        except FieldInvalid as problem:
            return problem
        return None

    def _replace(
        self, db: Connection, wanted: Replacement, digest: str, problem: FieldInvalid | None
    ) -> StandingVersion:
        stored = cases.case_by_id(db, wanted.case_id)
        if stored is None:
            raise CaseNotFound(wanted.case_id)
        known = judgments.answered_request(db, stored.sequence, wanted.request_id)
        if known is not None:
            return _first_answer(known, digest)
        new = _judged(stored.case, wanted, self.now())
        if not cases.raise_version(db, new, wanted.expected_version):
            raise conflict(stored.case, wanted.expected_version)
        if problem is not None:
            raise problem
        judge_time_us = new.judge_time_us or 0
        version = JudgmentVersion(new.judgment_version, wanted.author, judge_time_us, wanted.judgments)
        judgments.insert_version(db, stored.sequence, version, wanted.request_id, digest)
        return StandingVersion(version.judgment_version, judge_time_us)


def _check_request(wanted: Replacement) -> None:
    _check_text("author", wanted.author, limits.MAX_AUTHOR_BYTES)
    _check_text("request_id", wanted.request_id, limits.MAX_REQUEST_ID_BYTES)
    check_size(wanted.judgments)


def _check_text(field: str, text: str, limit: int) -> None:
    if not 0 < len(text.encode("utf-8")) <= limit:
        raise FieldInvalid(field, f"must have 1 to {limit} bytes", limit)


def _first_answer(known: judgments.AnsweredRequest, digest: str) -> StandingVersion:
    # The first answer would tell its sender that judgments stand which were never stored.
    if known.request_digest != digest:
        raise FieldInvalid("request_id", "was used for another judgment set: give each replacement an id of its own")
    return StandingVersion(known.judgment_version, known.judge_time_us)


def _judged(case: EvaluationCase, wanted: Replacement, now_us: int) -> EvaluationCase:
    return replace(
        case,
        judgment_version=case.judgment_version + 1,
        judgment_count=len(wanted.judgments),
        human_judged=any(judgment.source == "human" for judgment in wanted.judgments),
        judge_time_us=now_us,
        judgment_author=wanted.author,
    )

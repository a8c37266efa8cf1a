"""Judgments of cases, every version: reading and writing. What writes runs inside one write transaction.

The row at position 0 is the version itself; its judgments follow, by resource_id and unit_key, from position 1 on.
"""

from dataclasses import dataclass

from history_service.domain.case import Judgment, JudgmentVersion, in_order
from history_service.store.connection import Connection
from history_service.store.tables import JUDGMENT_COLUMNS, JUDGMENTS

_INSERT_VERSION = (
    "INSERT INTO evaluation_judgments (case_sequence, judgment_version, position, author, judge_time_us, request_id, "
    "request_digest) VALUES (?, ?, 0, ?, ?, ?, ?)"
)
_INSERT_JUDGMENT = (
    f"INSERT INTO evaluation_judgments (case_sequence, judgment_version, position, {', '.join(JUDGMENT_COLUMNS)}) "  # noqa: S608
    f"VALUES ({', '.join('?' * (3 + len(JUDGMENT_COLUMNS)))})"
)
_SELECT_JUDGMENTS = (
    f"SELECT {', '.join(JUDGMENT_COLUMNS)} FROM evaluation_judgments "  # noqa: S608
    "WHERE case_sequence = ? AND judgment_version = ? AND position > 0 ORDER BY position"
)


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """What the request of an id made."""

    request_digest: str
    judgment_version: int
    judge_time_us: int


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A version without its judgments."""

    judgment_version: int
    author: str
    judge_time_us: int


def insert_version(
    db: Connection,
    case_sequence: int,
    version: JudgmentVersion,
    request_id: str | None = None,
    request_digest: str | None = None,
) -> None:
    """Insert a version with its judgments, and the request that made it, where one did."""
    number = version.judgment_version
    request = (request_id, request_digest)
    db.execute_sql(_INSERT_VERSION, (case_sequence, number, version.author, version.judge_time_us, *request))
    rows = [
        (case_sequence, number, position, *(getattr(judgment, name) for name in JUDGMENT_COLUMNS))
        for position, judgment in enumerate(in_order(version.judgments), start=1)
    ]
    db.connection().executemany(_INSERT_JUDGMENT, rows)


def answered_request(db: Connection, case_sequence: int, request_id: str) -> AnsweredRequest | None:
    """Return what the request of this id made of the case's judgments."""
    columns = (JUDGMENTS.request_digest, JUDGMENTS.judgment_version, JUDGMENTS.judge_time_us)
    query = JUDGMENTS.select(*columns).where(
        JUDGMENTS.case_sequence == case_sequence, JUDGMENTS.request_id == request_id
    )
    rows = list(query.tuples().execute(db))
    return AnsweredRequest(*rows[0]) if rows else None


def judgments_of(db: Connection, case_sequence: int, version: int) -> list[Judgment]:
    """Return one version's judgments, by resource_id and unit_key, resource-level ones first."""
    rows = db.execute_sql(_SELECT_JUDGMENTS, (case_sequence, version))
    return [Judgment(id_, key, grade, bool(missed), notes, source) for id_, key, grade, missed, notes, source in rows]


def versions_of(db: Connection, case_sequence: int, before: int | None, limit: int) -> list[VersionHead]:
    """Return at most `limit` versions without their judgments, newest first, that are older than `before`."""
    query = JUDGMENTS.select(JUDGMENTS.judgment_version, JUDGMENTS.author, JUDGMENTS.judge_time_us)
    query = query.where(JUDGMENTS.case_sequence == case_sequence, JUDGMENTS.position == 0)
    query = query.order_by(JUDGMENTS.judgment_version.desc()).limit(limit)
    query = query if before is None else query.where(JUDGMENTS.judgment_version < before)
    return [VersionHead(number, author or "", time_us) for number, author, time_us in query.tuples().execute(db)]

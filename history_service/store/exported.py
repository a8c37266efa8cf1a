"""What an export reads: whole traces, and all resources of corpora. Every function returns values."""

import json
from collections.abc import Collection, Iterator

from history_service.domain.case import Judgment, JudgmentVersion, in_order
from history_service.domain.corpus import Resource
from history_service.domain.run import RunTrace
from history_service.store import frozen_corpora, read_runs
from history_service.store.connection import Connection
from history_service.store.tables import JUDGMENT_COLUMNS, RUN_COLUMNS

_RUN = f"SELECT {', '.join(RUN_COLUMNS)}, NULL FROM retrieval_runs WHERE sequence = ?"  # noqa: S608
_VERSIONS = (
    f"SELECT judgment_version, position, author, judge_time_us, {', '.join(JUDGMENT_COLUMNS)} "  # noqa: S608
    "FROM evaluation_judgments WHERE case_sequence = ? ORDER BY judgment_version, position"
)
_CHOSEN = "corpus_hash IN (SELECT value FROM json_each(?))"
_DIGESTS = f"SELECT DISTINCT digest FROM evaluation_corpus_resources WHERE {_CHOSEN} ORDER BY digest"  # noqa: S608
_DOCUMENTS = (
    "SELECT resource_id, digest, min(title), min(path), min(kind), min(media_type) "  # noqa: S608
    "FROM evaluation_corpus_resources "
    f"WHERE {_CHOSEN} GROUP BY resource_id, digest ORDER BY resource_id, digest"
)
PAGE_SIZE = 500


def trace_of(db: Connection, run_sequence: int) -> RunTrace:
    """Return the whole trace of a Run that has ended, its candidates in the order in which they were recorded."""
    run = read_runs.run_of_row(db.execute_sql(_RUN, (run_sequence,)).fetchone())
    if run.end is None:
        raise LookupError(f"Run {run.start.run_id} has not ended")
    return RunTrace(run.start, run.revisions, run.end, tuple(read_runs.candidates_as_sent(db, run_sequence)))


def versions_of(db: Connection, case_sequence: int) -> Iterator[JudgmentVersion]:
    """Yield every version of a case's judgments, oldest first."""
    rows = db.execute_sql(_VERSIONS, (case_sequence,))
    number, author, time_us, found = 0, "", 0, list[Judgment]()
    for version, position, *head, resource_id, unit_key, relevance, missed, notes, source in rows:
        if position:
            found.append(Judgment(resource_id, unit_key, relevance, bool(missed), notes, source))
            continue
        if number:
            yield JudgmentVersion(number, author, time_us, tuple(in_order(found)))
        number, author, time_us, found = version, head[0] or "", head[1], []
    yield JudgmentVersion(number, author, time_us, tuple(in_order(found)))


def body_digests(db: Connection, corpus_hashes: Collection[str]) -> list[str]:
    """Return the digests of all bodies of frozen corpora, ascending, each once."""
    return [digest for (digest,) in db.execute_sql(_DIGESTS, (json.dumps(sorted(corpus_hashes)),))]


def documents(db: Connection, corpus_hashes: Collection[str]) -> list[tuple[str, str, str, str, str, str]]:
    """Return all resources of frozen corpora, each pair of the first two once.

    A row is (resource_id, digest, title, path, kind, media_type).
    """
    return db.execute_sql(_DOCUMENTS, (json.dumps(sorted(corpus_hashes)),)).fetchall()


def resources_of(db: Connection, corpus_hash: str) -> Iterator[Resource]:
    """Yield all resources of a frozen corpus in resource_id order, read page by page."""
    after: str | None = None
    while page := frozen_corpora.page_of_resources(db, corpus_hash, after, PAGE_SIZE):
        yield from page
        after = page[-1].resource_id

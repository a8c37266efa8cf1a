"""What the benchmark reads of the Runs that cases pin: columns of candidates, times, and digests of the corpus.

The statements are written out, since a report reads thousands of traces.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from history_service.domain.run import StageLatency
from history_service.store.connection import Connection

_TIMES = "SELECT stage_latencies, cold FROM retrieval_runs WHERE sequence = ?"
_DIGESTS = "SELECT resource_id, digest FROM evaluation_corpus_resources WHERE corpus_hash = ? AND resource_id IN ({})"
_IDS_PER_QUERY = 500
"""Values of one IN list; below every limit on variables that SQLite is built with."""


@cache
def _units(columns: tuple[str, ...]) -> str:
    return f"SELECT {', '.join(columns)} FROM retrieval_run_candidates WHERE run_sequence = ?"  # noqa: S608


def unit_rows(db: Connection, run_sequence: int, columns: tuple[str, ...]) -> list[Any]:
    """Return these columns of a Run's candidates, in unit_key order."""
    return db.execute_sql(_units(columns), (run_sequence,)).fetchall()


def times(db: Connection, run_sequence: int) -> tuple[Sequence[StageLatency], bool | None]:
    """Return a Run's stage latencies, and whether it was cold, None where nobody knows."""
    latencies, cold = db.execute_sql(_TIMES, (run_sequence,)).fetchone()
    found = [StageLatency(*latency) for latency in json.loads(latencies or "[]")]
    return found, None if cold is None else bool(cold)


def corpus_digests(db: Connection, corpus_hash: str, resource_ids: Iterable[str]) -> dict[str, str]:
    """Return the full-resource digests of those of the resources that the frozen corpus has."""
    wanted, found = sorted(resource_ids), dict[str, str]()
    for start in range(0, len(wanted), _IDS_PER_QUERY):
        some = wanted[start : start + _IDS_PER_QUERY]
        found.update(db.execute_sql(_DIGESTS.format(", ".join("?" * len(some))), (corpus_hash, *some)).fetchall())
    return found

"""`ListRetrievalRuns` and `GetRetrievalRun` over the socket, beside the same SQL by `sqlite3`.

Stores of 500 and of 100,000 Runs: at most 1,000 of them have 120 candidates, the rest 2. They are multiplied inside the
database, since recording so many takes long. Each round asks for a page of 50 Runs, old or new, and for one Run of 120
candidates; the peer takes turns and reads what the service reads. Flat means that a store of 100,000 answers as soon as
one of 500.

    python bench/history_reads.py [--sizes 500 100000] [--rounds 200] [--json]
"""

import argparse
import contextlib
import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import histories
from bars import Line, finish

from history_service.domain.run import Candidate
from history_service.store.tables import RESOURCE_COLUMNS, RUN_COLUMNS
from ranktrail.history.v1 import history_service_pb2 as pb

BAR_MS = 3.0
FLAT_BAR = 1.25
"""Of the medians at the largest size and at the smallest."""
LARGE_RUNS = 1_000
PAGE = 50
KEEP_ALL = ("--retain-runs", "1000000000")
RUN_SELECT = (
    f"SELECT {', '.join(f'run.{name}' for name in RUN_COLUMNS)}, pinning.case_id FROM retrieval_runs AS run "  # noqa: S608
    "LEFT JOIN evaluation_cases AS pinning ON pinning.run_sequence = run.sequence "
)
LIST = (
    f"{RUN_SELECT} WHERE run.project_id = ? AND run.create_time_us < ? "
    f"ORDER BY run.create_time_us DESC, run.sequence DESC LIMIT {PAGE + 1}"
)
GET = f"{RUN_SELECT} WHERE run.run_id = ?"
CANDIDATES = (
    f"SELECT {', '.join(Candidate._fields)} FROM retrieval_run_candidates WHERE run_sequence = ? ORDER BY rowid"  # noqa: S608
)
RESOURCES = (
    f"SELECT {', '.join(RESOURCE_COLUMNS)} FROM retrieval_run_resources "  # noqa: S608
    "WHERE effective_memory_hash = ? AND resource_id IN ({})"
)
RESOURCE_ID = Candidate._fields.index("resource_id")
MEMORY = RUN_COLUMNS.index("effective_memory_hash")
# Copies of the Runs 1 and 2, the first of 120 candidates and the second of 2, a second of create time apart.
COPY = """
    WITH RECURSIVE numbers (n, source) AS (
        SELECT 3, 1 UNION ALL SELECT n + 1, iif(n + 1 <= :large + 2, 1, 2) FROM numbers WHERE n < :count
    )
    INSERT INTO {table} ({columns}) SELECT {values} FROM numbers JOIN {table} AS old ON old.{key} = source
"""


def fill(data_dir: Path, count: int) -> Path:
    """Make a store of so many Runs; return its database."""
    traces = histories.Traces()
    with histories.History(data_dir, *KEEP_ALL) as history:
        history.put(traces.corpus)
        history.send(traces.run(f"run-{n}", traces.candidates(size)) for n, size in ((1, histories.CANDIDATES), (2, 2)))
        path = history.database
    changed = {
        "sequence": "n",
        "change_sequence": "n + 1000000",
        "run_id": "'run-' || n",
        "create_time_us": "old.create_time_us + n * 1000000",
        "complete_time_us": "old.complete_time_us + n * 1000000",
    }
    connection = sqlite3.connect(path)
    sizes = {"large": min(LARGE_RUNS, count // 2), "count": count}
    connection.execute(_copy("retrieval_runs", (*RUN_COLUMNS, "query_folded"), "sequence", changed), sizes)
    columns = ("run_sequence", *Candidate._fields)
    connection.execute(_copy("retrieval_run_candidates", columns, "run_sequence", {"run_sequence": "n"}), sizes)
    connection.execute("UPDATE daemon_meta SET value = 100000000 WHERE key = 'retrieval_change_sequence'")
    connection.commit()
    connection.close()
    return path


def _copy(table: str, columns: tuple[str, ...], key: str, changed: dict[str, str]) -> str:
    values = ", ".join(changed.get(name, f"old.{name}") for name in columns)
    return COPY.format(table=table, columns=", ".join(columns), values=values, key=key)


class Asked:
    """A store, asked over the socket and by SQL."""

    def __init__(self, directory: Path, count: int, opened: contextlib.ExitStack) -> None:
        path = fill(directory, count)
        self._count, self._large = count, min(LARGE_RUNS, count // 2)
        self._random = random.Random(count)
        self._history = opened.enter_context(histories.History(directory, *KEEP_ALL))
        self._database = opened.enter_context(histories.reading(path))
        self.milliseconds: dict[str, list[float]] = {"list": [], "list's SQL": [], "get": [], "get's SQL": []}

    def round(self) -> None:
        """Ask for one page and for one Run."""
        seconds = histories.CREATE_TIME + self._random.randint(PAGE, self._count)
        run_id = f"run-{self._random.randint(3, self._large + 2)}"
        request = pb.ListRetrievalRunsRequest(project_id=histories.PROJECT, page_size=PAGE)
        request.create_time_to.seconds = seconds
        self._timed("list", lambda: self._history.history.ListRetrievalRuns(request))
        self._timed("list's SQL", lambda: self._page(seconds))
        self._timed("get", lambda: self._history.history.GetRetrievalRun(pb.GetRetrievalRunRequest(run_id=run_id)))
        self._timed("get's SQL", lambda: self._run(run_id))

    def lines(self) -> list[Line]:
        """Return the figures and their bars."""
        found = [Line.of(f"{self._count:,} Runs: {name}, ms", values) for name, values in self.milliseconds.items()]
        for name in ("list", "get"):
            ours, peers = self.milliseconds[name], self.milliseconds[f"{name}'s SQL"]
            above = [mine - other for mine, other in zip(ours, peers, strict=True)]
            found.append(Line.of(f"{self._count:,} Runs: {name} above its SQL, ms", above, BAR_MS))
        return found

    def _timed(self, name: str, work: Callable[[], Any]) -> None:
        begun = time.perf_counter()
        work()
        self.milliseconds[name].append(1_000 * (time.perf_counter() - begun))

    def _page(self, seconds: int) -> list[Any]:
        return self._database.execute(LIST, (histories.PROJECT, seconds * 1_000_000)).fetchall()

    def _run(self, run_id: str) -> tuple[Any, list[Any], list[Any]]:
        run = self._database.execute(GET, (run_id,)).fetchone()
        candidates = self._database.execute(CANDIDATES, (run[0],)).fetchall()
        ids = sorted({row[RESOURCE_ID] for row in candidates})
        statement = RESOURCES.format(", ".join("?" * len(ids)))
        return run, candidates, self._database.execute(statement, (run[MEMORY], *ids)).fetchall()


def main() -> None:
    """Measure and print; exit 1 above a bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 100_000])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with contextlib.ExitStack() as opened:
        stores = [Asked(opened.enter_context(histories.temporary_data_dir()), size, opened) for size in options.sizes]
        for _ in range(options.rounds):
            for store in stores:
                store.round()
    lines = [line for store in stores for line in store.lines()]
    for name in ("list", "get"):
        small, large = (median(store.milliseconds[name]) for store in (stores[0], stores[-1]))
        lines.append(Line.of(f"{name}: largest / smallest store", [large / small], FLAT_BAR))
    finish(lines, {"sizes": options.sizes, "rounds": options.rounds}, as_json=options.json)


if __name__ == "__main__":
    main()

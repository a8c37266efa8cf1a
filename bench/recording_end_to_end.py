"""Recording, end to end over the socket, beside bare `sqlite3`.

History takes whole Runs of 120 candidates and a known manifest on one stream, at most 32 unanswered, and answers each
once it is committed. Bare `sqlite3` does one `executemany` and one commit a Run of the same rows: WAL,
`synchronous=FULL`, the same table and indexes, else as it comes. Both write to the same disk; they take turns.

    python bench/recording_end_to_end.py [--rounds 8] [--runs 150] [--directory D] [--json]
"""

import argparse
import sqlite3
import time
from pathlib import Path
from typing import Any

import histories
from bars import Line, finish, ratios

from history_service.domain.run import Candidate
from history_service.rpc.candidates import candidate_rows
from history_service.store.migrations.v18 import STATEMENTS
from ranktrail.history.v1 import history_service_pb2 as pb

BAR = 0.5
TABLE = "retrieval_run_candidates"
COLUMNS = ("run_sequence", *Candidate._fields)
INSERT = f"INSERT INTO {TABLE} ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608


class Bare:
    """The peer."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode = wal", "synchronous = full"):
            self._connection.execute(f"PRAGMA {pragma}")
        for statement in STATEMENTS:
            if TABLE in statement:
                self._connection.execute(statement)
        self._sequence = 0

    def record(self, runs: list[list[tuple[Any, ...]]]) -> None:
        """Commit Runs one by one."""
        for rows in runs:
            self._sequence += 1
            self._connection.execute("BEGIN")
            self._connection.executemany(INSERT, [(self._sequence, *row) for row in rows])
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


def measure(directory: Path, rounds: int, count: int) -> dict[str, Any]:
    """Return Runs per second of both, round by round."""
    traces = histories.Traces()
    batches = [[traces.candidates() for _ in range(count)] for _ in range(2)]
    rows = [[[tuple(row) for row in candidate_rows(pb.CandidateFrame(candidates=run))] for run in b] for b in batches]
    rates: dict[str, list[float]] = {"history": [], "sqlite3": []}
    bare = Bare(directory / "bare.db")
    with histories.History(directory / "data", "--retain-runs", "1000000") as history:
        history.put(traces.corpus)
        for number in range(-1, rounds):  # the first round warms both up
            batch = number % 2
            frames = [traces.run(f"run-{number}-{n}", run) for n, run in enumerate(batches[batch])]
            seconds = {"history": timed(history.send, frames), "sqlite3": timed(bare.record, rows[batch])}
            if number >= 0:
                for name, taken in seconds.items():
                    rates[name].append(count / taken)
    bare.close()
    return {"runs_a_round": count, "sync_ms": histories.sync_milliseconds(directory), "runs_per_second": rates}


def timed(work: Any, *arguments: Any) -> float:
    """Return the seconds that the work took."""
    begun = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print; exit 1 below the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--runs", type=int, default=150, help="Runs a round (default: %(default)s)")
    parser.add_argument("--directory", type=Path, help="where to write (default: the system's temporary directory)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with histories.temporary_data_dir(options.directory) as directory:
        found = measure(directory, options.rounds, options.runs)
    rates = found["runs_per_second"]
    lines = [
        *(Line.of(f"{name}, Runs/s", values) for name, values in rates.items()),
        Line.of("one sync of the disk, ms", [found["sync_ms"]]),
        Line.of("history / sqlite3", ratios(rates["history"], rates["sqlite3"]), BAR, at_least=True),
    ]
    finish(lines, found, as_json=options.json)


if __name__ == "__main__":
    main()

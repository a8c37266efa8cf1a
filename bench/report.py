"""The benchmark report over the socket, beside `pytrec_eval` plus reading the same rows from SQLite.

Each case has 120 candidates and 20 judgments. The peer reads the same columns of the same candidates, and the
judgments, by bare `sqlite3` in one transaction, and `pytrec_eval` measures R@20, nDCG@10 and RR of the four rankings;
it looks no resource up in a corpus and follows no judgment through the stages. They take turns. Before each report one
case is judged anew. The service measures a case when it is judged and keeps that, so the report finds it done; `first`
is the first report of a process, which has measured nothing yet and measures every case, as the peer does each time.
The bar is for both. With intervals the report may take five seconds more.

    python bench/report.py [--cases 1000] [--rounds 9] [--json]
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import histories
import pytrec_eval
from bars import Line, finish, ratios

from history_service.evaluation.fused_set import RankedUnit
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb

BAR = 1.0
INTERVALS_BAR = 5.0
MEMORY_BAR = 1.25
"""Most memory while reporting over all cases, as a multiple of that over a quarter of them."""
FIRST_ROUNDS = 3
OURS, PEER, FIRST, INTERVALS = "report", "pytrec_eval", "first", "intervals"
MEASURES = {"recall.20", "ndcg_cut.10", "recip_rank"}
PEER_NAMES = {"R@20": "recall_20", "RR": "recip_rank"}
"""Those of our measures that the peer computes alike."""
VARIANTS = {"b2_dense_vector": "dense_rank", "b3_hybrid_rrf": "rrf_rank", "b4_reranked": "reranker_rank"}
CASES = "SELECT case_id, sequence, run_sequence, judgment_version FROM evaluation_cases"
ROWS = f"SELECT {', '.join(RankedUnit._fields)} FROM retrieval_run_candidates WHERE run_sequence = ?"  # noqa: S608
JUDGED = (
    "SELECT unit_key, relevance FROM evaluation_judgments "
    "WHERE case_sequence = ? AND judgment_version = ? AND position > 0"
)
AT = {name: place for place, name in enumerate(RankedUnit._fields)}

Measured = dict[str, dict[str, dict[str, float]]]


def peer(database: sqlite3.Connection) -> Measured:
    """Return measures by variant and case."""
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in ("b1_bm25", *VARIANTS)}
    exact, bm25 = AT["exact_rank"], AT["bm25_rank"]
    database.execute("BEGIN")
    for case_id, sequence, run_sequence, version in database.execute(CASES).fetchall():
        qrels[case_id] = dict(database.execute(JUDGED, (sequence, version)).fetchall())
        rows = database.execute(ROWS, (run_sequence,)).fetchall()
        runs["b1_bm25"][case_id] = {r[0]: 1 / r[exact] if r[exact] else -r[bm25] for r in rows if r[exact] or r[bm25]}
        for name, column in VARIANTS.items():
            at = AT[column]
            runs[name][case_id] = {row[0]: -row[at] for row in rows if row[at]}
    database.execute("COMMIT")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
    return {name: evaluator.evaluate(run) for name, run in runs.items()}


def ours(history: histories.History, *, intervals: bool = False, cases: Sequence[str] = ()) -> pb.BenchmarkReport:
    """Return a report."""
    request = pb.GetBenchmarkReportRequest(skip_comparisons=not intervals, case_ids=cases)
    return history.evaluation.GetBenchmarkReport(request).report


def judge_anew(history: histories.History, report: pb.BenchmarkReport, number: int) -> None:
    """Replace the judgments of one case."""
    case = history.evaluation.GetEvaluationCase(pb.GetEvaluationCaseRequest(case_id=report.cases[number].case_id))
    for judgment in case.judgments:
        judgment.relevance = 3 - judgment.relevance
    histories.judge(history, case.evaluation_case, list(case.judgments))


def largest_difference(report: pb.BenchmarkReport, peers: Measured) -> float:
    """Return how far the two are apart in what both compute alike."""
    return max(
        abs(measure.value - peers[variant.variant][case.case_id][PEER_NAMES[measure.measure]])
        for case in report.cases
        for variant in case.variants
        for measure in variant.measures
        if measure.measure in PEER_NAMES
    )


def measure(data_dir: Path, rounds: int) -> dict[str, Any]:
    """Return seconds round by round, peak memory, and by how far the two agree."""
    seconds: dict[str, list[float]] = {name: [] for name in (OURS, FIRST, PEER, INTERVALS)}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        result = work()
        seconds[name].append(time.perf_counter() - begun)
        return result

    for _ in range(FIRST_ROUNDS):
        with histories.History(data_dir) as history:
            timed(FIRST, lambda: ours(history))
    with histories.History(data_dir) as history, histories.reading(history.database) as database:
        report = ours(history)
        difference = largest_difference(report, peer(database))
        for number in range(rounds):
            judge_anew(history, report, number)
            timed(OURS, lambda: ours(history))
            timed(PEER, lambda: peer(database))
            if number < FIRST_ROUNDS:
                timed(INTERVALS, lambda: ours(history, intervals=True))
    return {
        "cases": report.case_count,
        "seconds": seconds,
        "peak_kib": peaks(data_dir, [case.case_id for case in report.cases]),
        "largest_difference": difference,
    }


def peaks(data_dir: Path, cases: Sequence[str]) -> list[int]:
    """Return the most memory of a process during its first report, over a quarter of the cases and over all."""
    found = []
    for some in (cases[: len(cases) // 4], cases):
        with histories.History(data_dir) as history:
            ours(history, cases=some)
            found.append(history.peak_kib())
    return found


def lines_of(seconds: dict[str, list[float]], peak_kib: list[int]) -> list[Line]:
    """Return the figures and their bars."""
    added = [whole - median(seconds[OURS]) for whole in seconds[INTERVALS]]
    firsts = [first / median(seconds[PEER]) for first in seconds[FIRST]]
    small, whole = peak_kib
    return [
        *(Line.of(f"{name}, s", values) for name, values in seconds.items()),
        Line.of("report / (pytrec_eval + reading)", ratios(seconds[OURS], seconds[PEER]), BAR),
        Line.of("first report / (pytrec_eval + reading)", firsts, BAR),
        Line.of("intervals, s more", added, INTERVALS_BAR),
        Line.of("most memory, all cases / a quarter of them", [whole / small], MEMORY_BAR),
    ]


def main() -> None:
    """Measure and print; exit 1 above a bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with histories.temporary_data_dir() as data_dir:
        with histories.History(data_dir) as history:
            histories.judged_set(history, histories.Traces(), options.cases)
        found = measure(data_dir, options.rounds)
    finish(lines_of(found["seconds"], found["peak_kib"]), found, as_json=options.json)


if __name__ == "__main__":
    main()

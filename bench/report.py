"""The benchmark report over the socket, beside `pytrec_eval` plus reading the same rows from SQLite.

Each case has 120 candidates and 20 judgments. The peer reads the columns that four rankings need, and the judgments,
with bare `sqlite3`, and has `pytrec_eval` measure R@20, nDCG@10 and RR of the four: fewer measures, no stage loss, no
corpus to look resources up in. Both take turns in one run. With intervals the report is asked once a round as well.

    python bench/report.py [--cases 1000] [--rounds 7] [--json]
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import histories
import pytrec_eval

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb

BAR = 1.0
INTERVAL_SECONDS = 5.0
FLAT_KIB = 4.0
"""Of memory a case more: the report itself, as values, as a message and as bytes."""
SMALL = 250
MEASURES = {"recall.20", "ndcg_cut.10", "recip_rank"}
ROWS = (
    "SELECT unit_key, exact_rank, bm25_rank, dense_rank, rrf_rank, reranker_rank "
    "FROM retrieval_run_candidates WHERE run_sequence = ?"
)
JUDGED = (
    "SELECT unit_key, relevance FROM evaluation_judgments "
    "WHERE case_sequence = ? AND judgment_version = ? AND position > 0"
)
Run = dict[str, float]


def peer(database: sqlite3.Connection) -> dict[str, dict[str, dict[str, float]]]:
    """Return the measures of four rankings by case."""
    cases = database.execute("SELECT case_id, sequence, run_sequence, judgment_version FROM evaluation_cases").fetchall()
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, Run]] = {"b1_bm25": {}, "b2_dense_vector": {}, "b3_hybrid_rrf": {}, "b4_reranked": {}}
    for case_id, sequence, run_sequence, version in cases:
        qrels[case_id] = dict(database.execute(JUDGED, (sequence, version)).fetchall())
        rows = database.execute(ROWS, (run_sequence,)).fetchall()
        runs["b1_bm25"][case_id] = {row[0]: -row[2] if row[1] is None else 1.0 / row[1] for row in rows if row[1] or row[2]}
        for column, name in enumerate(("b2_dense_vector", "b3_hybrid_rrf", "b4_reranked"), start=3):
            runs[name][case_id] = {row[0]: -row[column] for row in rows if row[column]}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES)
    return {name: evaluator.evaluate(run) for name, run in runs.items()}


def compared(report: pb.BenchmarkReport, peers: dict[str, dict[str, dict[str, float]]]) -> float:
    """Return the largest difference of recall and reciprocal rank, which both compute alike."""
    differences = [
        abs(measure.value - peers[variant.variant][case.case_id][name])
        for case in report.cases
        for variant in case.variants
        for measure in variant.measures
        for name in [{"R@20": "recall_20", "RR": "recip_rank"}.get(measure.measure)]
        if name
    ]
    return max(differences)


def measure(history: histories.History, rounds: int) -> dict[str, Any]:
    """Return seconds of both, round by round, and of the report with intervals."""

    def ours(skip: bool) -> pb.BenchmarkReport:
        request = pb.GetBenchmarkReportRequest(project_id=histories.PROJECT, skip_comparisons=skip)
        return history.evaluation.GetBenchmarkReport(request).report

    with histories.reading(history.database) as database:
        difference = compared(ours(skip=True), peer(database))
        seconds: dict[str, list[float]] = {"report": [], "pytrec_eval": [], "with intervals": []}
        work: dict[str, Callable[[], object]] = {
            "report": lambda: ours(skip=True),
            "pytrec_eval": lambda: peer(database),
            "with intervals": lambda: ours(skip=False),
        }
        for number in range(rounds):
            for name in list(work) if number < 3 else list(work)[:2]:
                begun = time.perf_counter()
                work[name]()
                seconds[name].append(time.perf_counter() - begun)
    ratios = [mine / theirs for mine, theirs in zip(seconds["report"], seconds["pytrec_eval"], strict=True)]
    return {"seconds": seconds, "ratios": ratios, "ratio": median(ratios), "largest_difference": difference}


def main() -> None:
    """Measure and print; exit 1 above the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rt-") as directory:
        with histories.History(Path(directory)) as history:
            histories.judged_set(history, histories.Traces(), options.cases)
            report = measure(history, options.rounds)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()

"""BM25 beside bm25s (its default backend) and rank_bm25, on the same tokens.

Texts are made of Zipf-distributed words, so that common terms have postings of most units. At each size the engines
answer the same queries, the best 60, one query after another and the engines in turn. rank_bm25, whose cost is the
whole corpus, answers a few of them only.

    python bench/bm25.py [--sizes 1000 50000] [--queries 200] [--json]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
from rank_bm25 import BM25Okapi

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ranker_service.index.lexical import LexicalIndex, warm_up  # noqa: E402
from ranker_service.profiles.catalog import ProfileCatalog  # noqa: E402

DEPTH = 60
VOCABULARY = 50_000
UNIT_TOKENS = (40, 200)
QUERY_TOKENS = (2, 10)
RANK_BM25_QUERIES = 10
OURS, BM25S, RANK_BM25 = "ranktrail", "bm25s", "rank_bm25"

Tokens = list[str]


def main() -> None:
    """Measure each size and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 50_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    reports = [measure(size, arguments.queries) for size in arguments.sizes]
    if arguments.json:
        print(json.dumps(reports, indent=2))
        return
    for report in reports:
        print(f"{report['units']:,} units, {report['queries']} queries, median ms a query (build s)")
        for name, row in report["engines"].items():
            print(f"  {name:<10} {row['median_ms']:8.3f}  p95 {row['p95_ms']:8.3f}  build {row['build_s']:6.1f}")
        for name, ratio in report["ratios"].items():
            print(f"  {OURS} takes {ratio:.3f} of {name}")
        print(f"  largest difference of a score from rank_bm25: {report['largest_difference']:.1e}")


def measure(size: int, query_count: int) -> dict[str, Any]:
    """Return times and ratios at one size."""
    generator = np.random.default_rng(size)
    texts, queries = texts_of(generator, size, UNIT_TOKENS), texts_of(generator, query_count, QUERY_TOKENS)
    settings = ProfileCatalog.load().default().index
    warm_up(settings)
    builds = {
        OURS: lambda: LexicalIndex.build(texts, settings),
        BM25S: lambda: indexed_by_bm25s(texts),
        RANK_BM25: lambda: BM25Okapi(texts),
    }
    built = {name: timed(build) for name, build in builds.items()}
    searches: dict[str, Callable[[Tokens], object]] = {
        OURS: lambda query: built[OURS][0].search(query, DEPTH),
        BM25S: lambda query: built[BM25S][0].retrieve([query], k=DEPTH, show_progress=False),
        RANK_BM25: lambda query: np.argsort(-built[RANK_BM25][0].get_scores(query), kind="stable")[:DEPTH],
    }
    times = in_turn(searches, queries)
    differences = [
        np.abs(built[OURS][0].scores(query) - built[RANK_BM25][0].get_scores(query)).max()
        for query in queries[:RANK_BM25_QUERIES]
    ]
    engines = {
        name: {
            "median_ms": statistics.median(times[name]),
            "p95_ms": sorted(times[name])[int(0.95 * len(times[name]))],
            "build_s": built[name][1],
        }
        for name in searches
    }
    ratios = {name: engines[OURS]["median_ms"] / engines[name]["median_ms"] for name in (BM25S, RANK_BM25)}
    return {
        "units": size,
        "queries": query_count,
        "engines": engines,
        "ratios": ratios,
        "largest_difference": float(max(differences)),
    }


def texts_of(generator: np.random.Generator, count: int, sizes: tuple[int, int]) -> list[Tokens]:
    """Return token lists whose words follow Zipf's law."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    lengths = generator.integers(*sizes, count)
    words = generator.choice(VOCABULARY, int(lengths.sum()), p=weights / weights.sum())
    stream = (f"w{word}" for word in words.tolist())
    return [list(islice(stream, int(length))) for length in lengths]


def indexed_by_bm25s(texts: list[Tokens]) -> Any:
    """Return bm25s's index with its default backend."""
    engine = bm25s.BM25()
    engine.index(texts, show_progress=False)
    return engine


def in_turn(searches: dict[str, Callable[[Tokens], object]], queries: list[Tokens]) -> dict[str, list[float]]:
    """Return milliseconds of each engine's answers, engines in turn at each query."""
    times: dict[str, list[float]] = {name: [] for name in searches}
    for search in searches.values():
        search(queries[0])
    for n, query in enumerate(queries):
        for name, search in searches.items():
            if name != RANK_BM25 or n < RANK_BM25_QUERIES:
                times[name].append(1_000 * timed(lambda search=search, query=query: search(query))[1])
    return times


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what the work returns, and the seconds it took."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


if __name__ == "__main__":
    main()

"""Dense search beside NumPy: recall@60 and time of the graph, identity and time of exact search.

The corpus is made of seeded perturbations, at a cosine of about 0.9, of the vectors of real documents (Cranfield and
mtrag-beir by the default encoder, where RANKTRAIL_TEST_DATA has them), and the queries are the collections' own;
without them both are clustered random vectors. Engines answer in turn; NumPy multiplies with every vector and sorts
the best.

    python bench/dense.py [--graph 100000] [--exact 20000] [--queries 300] [--json]
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import corpora  # noqa: E402

from ranker_service.index.vector import VectorIndex  # noqa: E402
from ranker_service.models.encoder import TransformerEncoder  # noqa: E402
from ranker_service.models.source import resolve  # noqa: E402
from ranker_service.models.transformer import choose_dtype  # noqa: E402
from ranker_service.profiles.catalog import ProfileCatalog  # noqa: E402

DEPTH = 60
NOISE = 0.5
SAME_SIMILARITY = 1e-6
OURS, NUMPY = "ranktrail", "numpy"

Matrix = NDArray[np.float32]


def main() -> None:
    """Measure the graph and exact search, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=int, default=100_000)
    parser.add_argument("--exact", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    generator = np.random.default_rng(1)
    source, documents, queries = real_vectors() if corpora.DATA.exists() else random_vectors(generator)
    queries = generator.permutation(queries)[: arguments.queries]
    reports = [
        measure(perturbed(documents, count, generator), queries, with_graph=with_graph) | {"vectors": source}
        for count, with_graph in ((arguments.exact, False), (arguments.graph, True))
    ]
    if arguments.json:
        print(json.dumps(reports, indent=2))
        return
    for report in reports:
        print(f"{report['count']:,} distinct vectors ({report['vectors']}), {report['queries']} queries")
        print(f"  {report['revision']}, build {report['build_s']:.1f} s, recall@60 {report['recall_at_60']:.4f}")
        print(
            f"  same order as numpy {report['same_order']:.4f}, largest difference {report['largest_difference']:.1e}"
        )
        for name, median in report["median_ms"].items():
            print(f"  {name:<10} {median:8.3f} ms median")
        print(f"  {OURS} takes {report['ratio']:.3f} of {NUMPY}")


def measure(matrix: Matrix, queries: Matrix, *, with_graph: bool) -> dict[str, Any]:
    """Return recall, agreement and times of one index."""
    settings = replace(ProfileCatalog.load().default().index, exact_vector_limit=0 if with_graph else len(matrix))
    keys = [str(row) for row in range(len(matrix))]
    began = time.perf_counter()
    index = VectorIndex.build(keys, lambda _: matrix, settings)
    build_s = time.perf_counter() - began
    found, times = in_turn(
        {OURS: lambda query: index.search(query, DEPTH), NUMPY: lambda query: nearest(matrix, query)}, queries
    )
    ours = [[unit.row for unit in answer] for answer in found[OURS]]
    scores = [np.array([unit.score for unit in answer]) for answer in found[OURS]]
    shares = [
        float((matrix[rows] @ query >= (matrix[peer] @ query).min() - SAME_SIMILARITY).sum()) / DEPTH
        for rows, peer, query in zip(ours, found[NUMPY], queries, strict=True)
    ]
    differences = [
        np.abs(matrix[rows] @ query - own).max() for rows, own, query in zip(ours, scores, queries, strict=True)
    ]
    medians = {name: statistics.median(own) for name, own in times.items()}
    return {
        "count": len(matrix),
        "queries": len(queries),
        "revision": index.revision,
        "build_s": build_s,
        "recall_at_60": statistics.fmean(shares),
        "same_order": statistics.fmean(rows == peer.tolist() for rows, peer in zip(ours, found[NUMPY], strict=True)),
        "largest_difference": float(max(differences)),
        "median_ms": medians,
        "ratio": medians[OURS] / medians[NUMPY],
    }


def nearest(matrix: Matrix, query: Matrix) -> NDArray[np.intp]:
    """Return the rows of the highest products, best first."""
    products = matrix @ query
    best = np.argpartition(-products, DEPTH)[:DEPTH]
    return np.asarray(best[np.lexsort((best, -products[best]))])


def in_turn(
    searches: dict[str, Callable[[Matrix], Any]], queries: Matrix
) -> tuple[dict[str, list[Any]], dict[str, list[float]]]:
    """Return each engine's answers and their milliseconds, engines in turn at each query."""
    answers: dict[str, list[Any]] = {name: [] for name in searches}
    times: dict[str, list[float]] = {name: [] for name in searches}
    for query in queries:
        for name, search in searches.items():
            began = time.perf_counter()
            answers[name].append(search(query))
            times[name].append(1_000 * (time.perf_counter() - began))
    return answers, times


def real_vectors() -> tuple[str, Matrix, Matrix]:
    """Return the vectors of the collections' documents and queries; a document is cut at the encoder's window."""
    encoder = TransformerEncoder.load(resolve(), choose_dtype())
    collections = [corpora.cranfield(), corpora.mtrag()]
    passages = [f"{title}\n{text}".strip() for one in collections for title, text in one.documents.values()]
    documents = [text for text in passages if text]
    queries = [query for one in collections for query in one.queries.values()]
    encoded = [np.stack([encoder.encode_query(text).vector for text in texts]) for texts in (documents, queries)]
    return "perturbed vectors of real documents, real queries", encoded[0], encoded[1]


def random_vectors(generator: np.random.Generator) -> tuple[str, Matrix, Matrix]:
    """Return clustered vectors: 3,000 documents and 500 queries around 300 centres."""
    centres = generator.standard_normal((300, 384))
    chosen = centres[generator.integers(0, 300, 3_500)] + generator.standard_normal((3_500, 384))
    return "clustered random vectors", unit_length(chosen[:3_000]), unit_length(chosen[3_000:])


def perturbed(vectors: Matrix, count: int, generator: np.random.Generator) -> Matrix:
    """Return `count` distinct vectors, each near one of `vectors`."""
    chosen = vectors[generator.integers(0, len(vectors), count)]
    return unit_length(chosen + NOISE * generator.standard_normal(chosen.shape) / np.sqrt(chosen.shape[1]))


def unit_length(vectors: NDArray[Any]) -> Matrix:
    """Return vectors of length one."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()

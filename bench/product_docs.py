"""Retrieval on a product's documentation as `ranktrail evals` sees it, live: 100 questions, 232 sections.

Each section is a file, and each question asks for one to four of them. Prints the retrieval_recall of what is returned,
through `ranktrail evals run --project`, and, of the same Runs, of the first units of each leg, joined by resource id.

    python bench/product_docs.py [--json]         # RANKTRAIL_TEST_DATA names the folder of the collections
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import corpora
import product

from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.run_delivery import delivered_run

PROJECT = "product-docs"
LEGS = {"lexical": "lexical_rank", "dense": "dense_rank", "rrf": "rrf_rank", "reranked": "final_rank"}
CUTOFFS = (5, 12, 20)


def read() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return sections and questions."""
    folder = corpora.DATA / "product-docs-qa"
    sections = json.loads((folder / "anthropic_docs.json").read_text("utf-8"))
    return sections, json.loads((folder / "docs_evaluation_dataset.json").read_text("utf-8"))


def names(sections: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the file name of each section by its link; it is also the id of its resource."""
    return {one["chunk_link"]: f"{place:03}.md" for place, one in enumerate(sections)}


def dataset(sections: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the questions as a dataset whose citations are the sections they ask for."""
    named = names(sections)
    texts = {one["chunk_link"]: one["text"] for one in sections}
    return {
        "format_version": 1,
        "dataset_id": PROJECT,
        "version": "1.0.0",
        "records": [
            {
                "record_id": one["id"],
                "question": one["question"],
                "reference_answer": one["correct_answer"],
                "citations": [
                    {"citation_id": named[link], "source": link, "text": texts[link]}
                    for link in dict.fromkeys(one["correct_chunks"])
                ],
                "judgments": [
                    {"citation_id": named[link], "relevant": True} for link in dict.fromkeys(one["correct_chunks"])
                ],
            }
            for one in questions
        ],
    }


def evaluated(data_dir: Path, folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    """Return what `ranktrail evals run` prints."""
    file = folder / "dataset.json"
    file.write_text(json.dumps(document), "utf-8")
    command = [sys.executable, "-m", "ranktrail_cli", "evals", "run", "--project", PROJECT, "--dataset", str(file)]
    options = ["--require", "retrieval_recall", "--json", "--data-dir", str(data_dir)]
    # 1 where it is below its threshold, which is a figure, too.
    ended = subprocess.run([*command, *options], check=False, stdout=subprocess.PIPE)
    if ended.returncode not in {0, 1}:
        raise SystemExit(f"the run ended with {ended.returncode}")
    return dict(json.loads(ended.stdout))


def recall(candidates: Sequence[trace_pb2.Candidate], rank_field: str, cutoff: int, relevant: set[str]) -> float:
    """Return retrieval_recall, joined by resource id, of the first units of one leg."""
    ranked = sorted((getattr(one, rank_field), one.resource_id) for one in candidates if one.HasField(rank_field))  # type: ignore[arg-type]
    return len(relevant & {resource_id for _, resource_id in ranked[:cutoff]}) / len(relevant)


def measure() -> dict[str, Any]:
    """Run the whole product; return the figures."""
    sections, questions = read()
    document = dataset(sections, questions)
    relevant = {one["record_id"]: {cited["citation_id"] for cited in one["citations"]} for one in document["records"]}
    with product.temporary_data_dir() as data_dir, TemporaryDirectory() as scratch:
        folder = Path(scratch) / "sections"
        folder.mkdir()
        for one in sections:
            body = one["text"] if one["text"].startswith("#") else f"# {one['text']}"
            (folder / names(sections)[one["chunk_link"]]).write_bytes(f"{body}\n".encode())
        with product.running(data_dir) as (client, _):
            product.sync(data_dir, folder, PROJECT)
            result = evaluated(data_dir, Path(scratch), document)
            runs = {one["record_id"]: delivered_run(client, one["run_id"]) for one in result["records"]}
    metric = result["metrics"]["retrieval_recall"]
    legs = {
        leg: {
            f"first {cutoff}": fmean(recall(runs[name].candidates, field, cutoff, relevant[name]) for name in runs)
            for cutoff in CUTOFFS
        }
        for leg, field in LEGS.items()
    }
    returned = fmean(
        recall([c for c in runs[name].candidates if c.selected], "final_rank", CUTOFFS[-1], relevant[name])
        for name in runs
    )
    fragments = fmean(one.run.returned_fragment_count for one in runs.values())
    return {
        "questions": metric["total"],
        "scored": metric["scored"],
        "units": next(iter(runs.values())).run.unit_count,
        "fragments": fragments,
        "returned": metric["value"],
        "returned_by_id": returned,
        "legs": legs,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    options = parser.parse_args()
    found = measure()
    if options.json:
        print(json.dumps(found))
        return
    print(f"{found['questions']} questions, {found['scored']} scored, {found['units']} units")
    print(
        f"retrieval_recall of what is returned ({found['fragments']:.1f} fragments): {found['returned']:.3f}, "
        f"by resource id alone {found['returned_by_id']:.3f}"
    )
    print(f"{'leg':12}" + "".join(f"{f'first {cutoff}':>10}" for cutoff in CUTOFFS))
    for leg, values in found["legs"].items():
        print(f"{leg:12}" + "".join(f"{value:10.3f}" for value in values.values()))


if __name__ == "__main__":
    main()

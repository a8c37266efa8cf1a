"""Retrieval quality through the whole product: files, sync, every query a Run, every Run read back from history.

Prints nDCG@10 (gain 2^relevance - 1; documents ranked by their first unit) of the four stages, beside bm25s on the same
tokens, and checks that each Run's selected candidates are its reply's fragments, field by field.

    python bench/quality.py [--json] [--collection cranfield] [--exact-vector-limit N]
"""

import argparse
import contextlib
import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import bm25s
import corpora
import product

from ranker_service.index.tokenizer import lexical_tokens, query_tokens
from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client import Client
from ranktrail_client.errors import RanktrailError

STAGES = {"lexical": "lexical_rank", "dense": "dense_rank", "rrf": "rrf_rank", "reranked": "final_rank"}
CUTOFF = 10
ARRIVAL_SECONDS = 60.0
SHARED = [
    "unit_key",
    "resource_id",
    "path",
    "heading_path",
    "start_byte",
    "end_byte",
    "unit_digest",
    "resource_digest",
    "token_count",
    "relevance",
]
QUIET_PROFILE = "bench"


@dataclass
class Outcome:
    """nDCG@10 of each query, by stage, in query order."""

    collection: str
    queries: int
    units: int = 0
    vector_index: str = ""
    values: dict[str, list[float]] = field(default_factory=lambda: {stage: [] for stage in (*STAGES, "bm25s")})

    def means(self) -> dict[str, dict[str, float]]:
        """Means over all queries, and over those in odd and in even places."""
        return {
            stage: {"all": fmean(values), "odd": fmean(values[0::2]), "even": fmean(values[1::2])}
            for stage, values in self.values.items()
        }


def ndcg(ranking: Sequence[str], judgments: dict[str, int]) -> float:
    """nDCG@10 with gain 2^relevance - 1 and discount log2(rank + 1) (Burges et al., ICML 2005)."""
    gains = [2 ** judgments.get(document, 0) - 1 for document in ranking[:CUTOFF]]
    ideal = sorted((2**relevance - 1 for relevance in judgments.values()), reverse=True)[:CUTOFF]
    return _dcg(gains) / _dcg(ideal)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def documents(candidates: Sequence[trace_pb2.Candidate], rank_field: str) -> list[str]:
    """Return document ids by the rank of their first unit in one stage."""
    ranked = sorted((getattr(c, rank_field), c.path) for c in candidates if c.HasField(rank_field))
    return list(dict.fromkeys(path.rsplit(".", 1)[0] for _, path in ranked))


def measure(collection: corpora.Collection, profile: Path | None) -> Outcome:
    """Run the whole product over one collection."""
    outcome = Outcome(collection.name, len(collection.queries))
    with product.temporary_data_dir() as data_dir, TemporaryDirectory() as folder:
        collection.write(Path(folder))
        arguments: tuple[str, ...] = ()
        if profile is not None:
            installed = data_dir / "ranker" / "profiles" / profile.name
            installed.parent.mkdir(parents=True)
            installed.write_bytes(profile.read_bytes())
            arguments = ("--profile", profile.stem)
        with product.running(data_dir, arguments) as (client, _):
            product.sync(data_dir, Path(folder), collection.name)
            for query_id, query in collection.queries.items():
                run = _activate(client, collection.name, query)
                outcome.units = run.run.unit_count
                outcome.vector_index = run.run.vector_index_revision
                for stage, rank_field in STAGES.items():
                    ranking = documents(run.candidates, rank_field)
                    outcome.values[stage].append(ndcg(ranking, collection.judgments[query_id]))
    outcome.values["bm25s"] = list(_bm25s(collection))
    return outcome


def _activate(client: Client, project: str, query: str) -> history_pb.GetRetrievalRunResponse:
    """Ask, read the Run back, and compare the two."""
    reply = client.ranker.activate_memory(ranker_pb.ActivateMemoryRequest(project_id=project, query=query))
    run = _recorded(client, reply.run_id)
    if run.run.state != history_pb.RetrievalRun.STATE_SUCCEEDED:
        raise SystemExit(f"Run {reply.run_id} did not succeed: {run.run.failure}")
    selected = [candidate for candidate in run.candidates if candidate.selected]
    for fragment, candidate in zip(reply.fragments, selected, strict=True):
        for name in SHARED:
            if getattr(fragment, name) != getattr(candidate, name):
                raise SystemExit(f"Run {reply.run_id}: {name} of {fragment.unit_key} differs between reply and trace")
        if fragment.action != candidate.delta_action or fragment.content[:1200] != candidate.excerpt:
            raise SystemExit(f"Run {reply.run_id}: action or text of {fragment.unit_key} differs")
    return run


def _recorded(client: Client, run_id: str) -> history_pb.GetRetrievalRunResponse:
    until = time.monotonic() + ARRIVAL_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(RanktrailError):
            run = client.history.get_retrieval_run(history_pb.GetRetrievalRunRequest(run_id=run_id))
            if run.run.state != history_pb.RetrievalRun.STATE_RUNNING:
                return run
        time.sleep(0.01)
    raise SystemExit(f"Run {run_id} did not reach history")


def _bm25s(collection: corpora.Collection) -> Iterator[float]:
    """nDCG@10 of bm25s over whole documents, on the product's tokens."""
    ids = list(collection.documents)
    peer = bm25s.BM25(k1=1.5, b=0.75)
    peer.index(
        [lexical_tokens(f"{title}\n{text}") for title, text in collection.documents.values()], show_progress=False
    )
    for query_id, query in collection.queries.items():
        tokens = [token for token in query_tokens(query) if token in peer.vocab_dict]
        ranking = []
        if tokens:
            rows, scores = peer.retrieve([tokens], k=60, show_progress=False)
            ranking = [ids[row] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]
        yield ndcg(ranking, collection.judgments[query_id])


def profile_with(exact_vector_limit: int, directory: Path) -> Path:
    """Write the default profile with another exact_vector_limit, under another name."""
    text = (files("ranker_service") / "profiles" / "activation.v1.toml").read_text("utf-8")
    text = re.sub(r"^exact_vector_limit = .*$", f"exact_vector_limit = {exact_vector_limit}", text, flags=re.MULTILINE)
    path = directory / f"{QUIET_PROFILE}.toml"
    path.write_text(text.replace('name = "activation.v1"', f'name = "{QUIET_PROFILE}"'), "utf-8")
    return path


def main() -> None:
    """Measure and print."""
    readers = {"cranfield": corpora.cranfield, "mtrag-beir": corpora.mtrag}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--collection", choices=list(readers), action="append", help="default: all")
    parser.add_argument("--exact-vector-limit", type=int, help="rank with this limit instead of the profile's")
    options = parser.parse_args()
    if not corpora.DATA.is_dir():
        raise SystemExit(f"no test collections at {corpora.DATA}: set RANKTRAIL_TEST_DATA")
    with TemporaryDirectory() as directory:
        limit = options.exact_vector_limit
        profile = None if limit is None else profile_with(limit, Path(directory))
        outcomes = [measure(readers[name](), profile) for name in options.collection or readers]
    if options.json:
        print(json.dumps([{**vars(o), "values": None, "ndcg@10": o.means()} for o in outcomes]))
        return
    for outcome in outcomes:
        print(f"\n{outcome.collection}: {outcome.queries} queries, {outcome.units} units, {outcome.vector_index}")
        print(f"{'nDCG@10':12}{'all':>8}{'odd':>8}{'even':>8}")
        for stage, means in outcome.means().items():
            print(f"{stage:12}{means['all']:8.4f}{means['odd']:8.4f}{means['even']:8.4f}")


if __name__ == "__main__":
    main()

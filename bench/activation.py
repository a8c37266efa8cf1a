"""One activation through the whole product, beside the time that its models take, and what recording adds to it.

Three rankers on copies of one memory are asked in turn, ten queries at a time, one activation every 50 ms: with history
on, with recording off, and with history stopped (SIGSTOP: it accepts and never answers). Model time is what the Run's
own trace says of encoding the query and of reranking.

    python bench/activation.py [--units 10000] [--rounds 200] [--json]
"""

import argparse
import contextlib
import json
import random
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import corpora
import product

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb
from ranktrail_client import Client
from ranktrail_client.errors import RanktrailError
from ranktrail_client.frames import commit_frames

PROJECT = "bench"
INTERVAL_SECONDS = 0.05
IN_A_ROW = 10
WARM_UP = 50
SEED = 7
WORDS_PER_UNIT = 110
MODEL_STAGES = ("embedding", "rerank")


def pages(count: int) -> Iterator[tuple[str, str]]:
    """Yield pages of one unit each: sentences of real documents, put together anew by a seeded generator."""
    sentences = [
        sentence
        for collection in (corpora.cranfield(), corpora.mtrag())
        for _, text in collection.documents.values()
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.split()))
        if 5 <= len(sentence.split()) <= 40
    ]
    generator = random.Random(SEED)
    for number in range(count):
        chosen: list[str] = []
        while sum(len(sentence.split()) for sentence in chosen) < WORDS_PER_UNIT:
            chosen.append(generator.choice(sentences))
        yield f"page-{number:06}.txt", " ".join(chosen)


def fill(data_dir: Path, count: int) -> int:
    """Commit the pages and wait for their index; return its units."""
    with product.running(data_dir, history=False) as (client, _):
        resources = (
            (ranker_pb.ResourceHeader(resource_id=path, path=path), text.encode()) for path, text in pages(count)
        )
        header = ranker_pb.CommitHeader(
            project_id=PROJECT, layer="LAYER_PROJECT", mode=ranker_pb.CommitHeader.MODE_REPLACE_ALL
        )
        client.ranker.commit_memory(commit_frames(header, resources))
        *_, ready = client.ranker.ensure_index(ranker_pb.EnsureIndexRequest(project_id=PROJECT))
        return ready.unit_count


def ask(client: Client, query: str) -> tuple[float, str]:
    """Activate once; return milliseconds and the Run's id."""
    request = ranker_pb.ActivateMemoryRequest(project_id=PROJECT, query=query)
    begun = time.perf_counter()
    reply = client.ranker.activate_memory(request)
    return (time.perf_counter() - begun) * 1e3, reply.run_id


def _ask_in_time(client: Client, query: str) -> tuple[float, str]:
    begun = time.perf_counter()
    asked = ask(client, query)
    time.sleep(max(0.0, INTERVAL_SECONDS - (time.perf_counter() - begun)))
    return asked


def _cyclic(queries: list[str], first: int, count: int) -> list[str]:
    return [queries[number % len(queries)] for number in range(first, first + count)]


def stage_milliseconds(client: Client, run_id: str) -> dict[str, float]:
    """Return the stage latencies of a Run once it is recorded."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(RanktrailError):
            run = client.history.get_retrieval_run(history_pb.GetRetrievalRunRequest(run_id=run_id)).run
            if run.stage_latencies:
                return {latency.stage: latency.duration_us / 1e3 for latency in run.stage_latencies}
        time.sleep(0.05)
    raise SystemExit(f"Run {run_id} did not reach history")


def measure(
    directory: Path, rounds: int
) -> tuple[dict[str, list[float]], list[tuple[float, str]], dict[str, dict[str, float]]]:
    """Ask the three in turn; return milliseconds by mode, those with history on by Run, and their stages."""
    queries = [query for c in (corpora.cranfield(), corpora.mtrag()) for query in c.queries.values()]
    random.Random(SEED).shuffle(queries)
    with contextlib.ExitStack() as stack:
        clients = {}
        modes = {"on": ((), True), "off": (("--recording", "off"), False), "stopped": ((), True)}
        for mode, (arguments, history) in modes.items():
            client, processes = stack.enter_context(product.running(directory / mode, arguments, history))
            clients[mode] = client
            if mode == "stopped":
                processes["history_service"].send_signal(signal.SIGSTOP)
                stack.callback(processes["history_service"].send_signal, signal.SIGCONT)
        for client in clients.values():
            for query in queries[:WARM_UP]:
                ask(client, query)
        milliseconds: dict[str, list[float]] = {mode: [] for mode in modes}
        recorded: list[tuple[float, str]] = []
        for first in range(WARM_UP, WARM_UP + rounds, IN_A_ROW):
            for mode, client in clients.items():
                asked = [_ask_in_time(client, query) for query in _cyclic(queries, first, IN_A_ROW)]
                milliseconds[mode] += [taken for taken, _ in asked]
                recorded += asked if mode == "on" else []
        stages = {run_id: stage_milliseconds(clients["on"], run_id) for _, run_id in recorded}
    return milliseconds, recorded, stages


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000, help="units of the memory (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=200, help="activations in each mode (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    options = parser.parse_args()
    if not corpora.DATA.is_dir():
        raise SystemExit(f"no test collections at {corpora.DATA}: set RANKTRAIL_TEST_DATA")
    with product.temporary_data_dir() as directory:
        units = fill(directory / "on", options.units)
        for mode in ("off", "stopped"):
            shutil.copytree(directory / "on" / "ranker", directory / mode / "ranker")
        milliseconds, recorded, stages = measure(directory, options.rounds)
    added = [taken - sum(stages[run_id].get(s, 0.0) for s in MODEL_STAGES) for taken, run_id in recorded]
    beyond_encoding = [taken - stages[run_id].get("embedding", 0.0) for taken, run_id in recorded]
    recording = {
        mode: round(median(a - b for a, b in zip(milliseconds[mode], milliseconds["off"], strict=True)), 3)
        for mode in ("on", "stopped")
    }
    result = {
        "units": units,
        "rounds": options.rounds,
        "reply_ms": {mode: _spread(values) for mode, values in milliseconds.items()},
        "recording_adds_ms": recording,
        "ranking_adds_to_models_ms": _spread(added),
        "ranking_without_recording_adds_ms": round(median(added) - recording["on"], 3),
        "beyond_encoding_ms": _spread(beyond_encoding),
        "stage_ms": {
            stage: round(median(values[stage] for values in stages.values() if stage in values), 3)
            for stage in next(iter(stages.values()))
        },
    }
    print(json.dumps(result) if options.json else _table(result))


def _spread(values: list[float]) -> dict[str, float]:
    deciles = quantiles(values, n=20)
    return {"p5": round(deciles[0], 3), "p50": round(median(values), 3), "p95": round(deciles[-1], 3)}


def _table(result: dict[str, object]) -> str:
    return "\n".join(f"{name:28} {value}" for name, value in result.items())


if __name__ == "__main__":
    main()

"""Speed of the encoder, beside `sentence_transformers.SentenceTransformer.encode` of the same weights.

Encodes one query many times, and a corpus of real passages; ours and the peer's runs take turns, so that a busy machine
slows both. A ratio below 1 in `time_ratio` means that ours takes less time.
"""

import argparse
import json
import logging
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import corpora
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.source import resolve
from ranker_service.models.transformer import choose_dtype

QUERY = "what similarity laws must be obeyed when constructing aeroelastic models of heated high speed aircraft"
WORDS = (30, 170)


def passages(count: int, data: Path, fits: Callable[[str], bool]) -> list[str]:
    """Return passages of 30 to 170 words from the mtrag-beir corpus that fit the encoder's window."""
    lines = (data / "mtrag-beir" / "corpus.jsonl").read_text("utf-8").splitlines()
    words = [json.loads(line)["text"].split() for line in lines]
    lengths = np.random.default_rng(1).integers(*WORDS, len(words))
    cut = [" ".join(text[:length]) for text, length in zip(words, lengths, strict=True)]
    return [text for text in cut if fits(text)][:count]


def milliseconds(call: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def interleaved(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of each call over `rounds` of turns, after one unmeasured."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            times[name].append(milliseconds(call))
    return {name: statistics.median(own[1:]) for name, own in times.items()}


def peer_call(peer: SentenceTransformer, texts: str | list[str]) -> Callable[[], object]:
    """Return a call of the peer with its default settings, which use all cores."""

    def call() -> None:
        torch.set_num_threads(os.cpu_count() or 1)
        peer.encode(texts, show_progress_bar=False)
        torch.set_num_threads(1)

    return call


def corpus_call(encoder: TransformerEncoder, texts: Sequence[str]) -> Callable[[], object]:
    """Return a call that encodes `texts`, token vectors included."""
    return lambda: list(encoder.encode_units(texts, keep_token_vectors=True))


def measure(data: Path, texts: int, rounds: int, query_rounds: int) -> dict[str, dict[str, float]]:
    """Return what `main` prints."""
    folder = resolve()
    peer = SentenceTransformer(str(folder.path), device="cpu")
    dtypes = ["float32", "bfloat16"] if choose_dtype() == "bfloat16" else ["float32"]
    encoders = {dtype: TransformerEncoder.load(folder, dtype) for dtype in dtypes}
    first = encoders[dtypes[0]]
    room = first.window - first.special_token_count
    corpus = passages(texts, data, lambda text: len(first.token_spans(text)) <= room)
    query = interleaved(
        {"sentence_transformers": peer_call(peer, QUERY)}
        | {dtype: lambda encoder=encoder: encoder.encode_query(QUERY) for dtype, encoder in encoders.items()},
        query_rounds,
    )
    units = interleaved(
        {"sentence_transformers": peer_call(peer, corpus)}
        | {dtype: corpus_call(encoder, corpus) for dtype, encoder in encoders.items()},
        rounds,
    )
    return {
        "query_ms": query,
        "query_time_ratio": {name: query[name] / query["sentence_transformers"] for name in encoders},
        "texts_per_second": {name: len(corpus) / own * 1e3 for name, own in units.items()},
        "corpus_time_ratio": {name: units[name] / units["sentence_transformers"] for name in encoders},
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=corpora.DATA, help="test collections")
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5, help="of the corpus")
    parser.add_argument("--query-rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    report = measure(arguments.data, arguments.texts, arguments.rounds, arguments.query_rounds)
    if arguments.json:
        print(json.dumps(report))
        return
    for table, values in report.items():
        print(f"{table:20}", "  ".join(f"{name} {value:.2f}" for name, value in values.items()))


if __name__ == "__main__":
    main()

"""Test collections for tests, made up or published, and the command line on running services."""

import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranktrail_cli.command_line import run

DATA = Path(os.environ.get("RANKTRAIL_TEST_DATA") or Path(__file__).resolve().parents[1] / ".." / "shared" / "data")
WORDS = (
    "anchor",
    "beacon",
    "cable",
    "delta",
    "ember",
    "fjord",
    "gravel",
    "harbor",
    "island",
    "jetty",
    "kelp",
    "lagoon",
)


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Ended]


def commands_on(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, in this process, on the services of a data directory."""

    def execute(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run([*map(str, arguments), "--data-dir", str(data_dir)])
        return Ended(code, *capsys.readouterr())

    return execute


def published(name: str) -> Path:
    """Return the folder of a published collection; skip the test where it is not there."""
    if not (DATA / name).is_dir():
        pytest.skip(f"no {name} in {DATA}: set RANKTRAIL_TEST_DATA to the folder of the test collections")
    return DATA / name


def write_beir(folder: Path, documents: list[dict[str, Any]], queries: list[dict[str, Any]], qrels: list[str]) -> Path:
    """Write a BEIR folder; each of `qrels` is a line after the head."""
    (folder / "qrels").mkdir(parents=True)
    for name, records in (("corpus.jsonl", documents), ("queries.jsonl", queries)):
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *qrels, ""]))
    return folder


def a_collection(folder: Path, document_count: int = 12, query_count: int = 8) -> Path:
    """Write a BEIR folder of made-up documents, each query judging three of them."""
    made = random.Random(document_count)
    documents = [
        {"_id": f"d{n}", "title": f"Chart {n}", "text": " ".join(made.choices(WORDS, k=30))}
        for n in range(document_count)
    ]
    queries = [{"_id": f"q{n}", "text": " ".join(made.sample(WORDS, 3))} for n in range(query_count)]
    qrels = [
        f"q{n}\td{number}\t{made.randrange(4)}"
        for n in range(query_count)
        for number in made.sample(range(document_count), 3)
    ]
    return write_beir(folder, documents, queries, qrels)

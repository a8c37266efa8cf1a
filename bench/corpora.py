"""Readers of the public test collections that the measurements use; RANKTRAIL_TEST_DATA names their folder."""

import csv
import json
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("RANKTRAIL_TEST_DATA") or Path(__file__).resolve().parents[1] / ".." / "shared" / "data")
CRANFIELD_GRADES = {"1": 3, "2": 2, "3": 1, "4": 1}


@dataclass(frozen=True)
class Collection:
    """Documents by id (title, text), queries by id, and judgments: query id -> document id -> relevance 0 to 3."""

    name: str
    documents: dict[str, tuple[str, str]]
    queries: dict[str, str]
    judgments: dict[str, dict[str, int]]

    def write(self, directory: Path) -> None:
        """Write each document as a file named by its id: Markdown where it has a title, else plain text."""
        for document_id, (title, text) in self.documents.items():
            suffix, body = (".md", f"# {title}\n\n{text}\n") if title else (".txt", f"{text}\n")
            (directory / f"{document_id}{suffix}").write_bytes(body.encode("utf-8"))


def cranfield() -> Collection:
    """Cranfield 1400; query ids are positions in cran.qry, which is what its judgments mean by them."""
    folder = DATA / "cranfield"
    documents = {
        number: (_line(fields.get("T", "")), fields.get("W", "").strip())
        for number, fields in _smart((folder / "cran.all.1400").read_text("latin-1"))
    }
    queries = {
        str(position): _line(fields["W"])
        for position, (_, fields) in enumerate(_smart((folder / "cran.qry").read_text("latin-1")), start=1)
    }
    judgments: dict[str, dict[str, int]] = defaultdict(dict)
    for row in (folder / "cranqrel").read_text("ascii").splitlines():
        query_id, document_id, code = row.split()
        if code in CRANFIELD_GRADES:
            judgments[query_id][document_id] = CRANFIELD_GRADES[code]
    return Collection("cranfield", documents, queries, dict(judgments))


def mtrag() -> Collection:
    """MTRAG in BEIR layout."""
    folder = DATA / "mtrag-beir"
    documents = {row["_id"]: (_line(row["title"]), row["text"]) for row in _json_lines(folder / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in _json_lines(folder / "queries.jsonl")}
    judgments: dict[str, dict[str, int]] = defaultdict(dict)
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            judgments[row["query-id"]][row["corpus-id"]] = int(row["score"])
    return Collection("mtrag-beir", documents, queries, dict(judgments))


def _smart(text: str) -> list[tuple[str, dict[str, str]]]:
    """Split a SMART file into (number, field letter -> text)."""
    records = []
    for record in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]:
        number, _, rest = record.partition("\n")
        parts = re.split(r"^\.([TABW])\n", rest, flags=re.MULTILINE)
        records.append((number.strip(), dict(zip(parts[1::2], parts[2::2], strict=True))))
    return records


def _line(text: str) -> str:
    return " ".join(text.split())


def _json_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]

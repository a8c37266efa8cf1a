"""The public test collections as the measurements use them; RANKTRAIL_TEST_DATA names their folder."""

import os
from dataclasses import dataclass
from pathlib import Path

from ranktrail_client import collections
from ranktrail_client.collections import read_beir, read_cranfield

DATA = Path(os.environ.get("RANKTRAIL_TEST_DATA") or Path(__file__).resolve().parents[1] / ".." / "shared" / "data")


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
    return _collection("cranfield", read_cranfield(DATA / "cranfield"))


def mtrag() -> Collection:
    """MTRAG in BEIR layout."""
    return _collection("mtrag-beir", read_beir(DATA / "mtrag-beir"))


def _collection(name: str, read: collections.Collection) -> Collection:
    return Collection(
        name,
        {document.document_id: (" ".join(document.title.split()), document.text) for document in read.documents},
        {query.query_id: query.text for query in read.queries},
        {query.query_id: query.judgments for query in read.queries if query.judgments},
    )

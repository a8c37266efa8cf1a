"""A BEIR folder: a corpus, queries and relevance of whole documents (Thakur et al., NeurIPS 2021, Datasets).

A document is a resource, and its relevance is the highest of its judgments. Where the corpora of the chosen cases hold
several contents under one resource id, each is a document of its own, `id@` and the first 12 digits of its digest.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from history_service.domain.case import EvaluationCase, Judgment
from history_service.domain.digest import canonical_json

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels/test.tsv"
FILES = (CORPUS, QUERIES, QRELS)
_DIGEST_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Document:
    """One content of one resource."""

    resource_id: str
    digest: str
    title: str
    path: str
    kind: str
    media_type: str


class DocumentNames:
    """Gives each document its id."""

    def __init__(self, documents: Iterable[Document]) -> None:
        seen: set[str] = set()
        self._several: set[str] = set()
        for document in documents:
            (self._several if document.resource_id in seen else seen).add(document.resource_id)

    def name(self, resource_id: str, digest: str) -> str:
        """Return the id of the document that a resource is with this digest."""
        return f"{resource_id}@{digest[:_DIGEST_DIGITS]}" if resource_id in self._several else resource_id


def corpus_lines(documents: Iterable[Document], names: DocumentNames, body: Callable[[str], bytes]) -> Iterator[bytes]:
    """Yield a line a document; a body that is not UTF-8 has no text. `body` reads one by its digest."""
    for document in documents:
        line = {
            "_id": names.name(document.resource_id, document.digest),
            "title": document.title,
            "text": _text(body(document.digest)),
            "metadata": _metadata(document),
        }
        yield canonical_json(line) + b"\n"


def write_query(case: EvaluationCase, file: BinaryIO) -> None:
    """Write a case's line."""
    metadata = {"category": case.category, "notes": case.notes, "project_id": case.project_id}
    file.write(canonical_json({"_id": case.case_id, "text": case.query, "metadata": metadata}) + b"\n")


def qrels_head() -> bytes:
    """Return the first line of the relevance file."""
    return _tsv([("query-id", "corpus-id", "score")])


def qrels_lines(case_id: str, judgments: Sequence[Judgment], name: Callable[[str], str]) -> bytes:
    """Return a case's lines, by resource id; `name` is the document that a resource is in the case's corpus."""
    highest: dict[str, int] = {}
    for judgment in judgments:
        highest[judgment.resource_id] = max(judgment.relevance, highest.get(judgment.resource_id, 0))
    return _tsv((case_id, name(resource_id), str(relevance)) for resource_id, relevance in sorted(highest.items()))


def _metadata(document: Document) -> dict[str, str]:
    fields = ("path", "kind", "media_type", "digest")
    return {field: getattr(document, field) for field in fields}


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _tsv(rows: Iterable[Sequence[str]]) -> bytes:
    # Quoted where it must be, as BEIR's own reader (csv with tabs) takes it.
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", quoting=csv.QUOTE_MINIMAL, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8")

"""Reads a BEIR folder: corpus.jsonl, queries.jsonl and qrels/*.tsv (Thakur et al., NeurIPS 2021, Datasets).

The metadata that an export of a case set writes (path, kind and media type of a document, category and notes of a
query) is taken where it is there, so that such a folder comes back as the same cases.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from ranktrail_client.collections.collection import Assembly, Collection, Document, Names, Query
from ranktrail_client.collections.lines import CollectionInvalid, Line, lines_of

DEFAULT_SPLIT = "test"
_COLUMNS = ["query-id", "corpus-id", "score"]
_NAMES = Names("_id", "title", "text", *_COLUMNS)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII)
_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?: *;[ -~]*)?", re.ASCII)
# The limits of the contracts, in bytes.
_KIND, _CATEGORY, _MEDIA, _PATH, _NOTES = 64, 128, 255, 1_024, 8_192


def read_beir(folder: Path, split: str | None = None) -> Collection:
    """Read a folder with the judgments of one split; without a name the only one there is, or "test".

    A query that only other splits judge is left out; one that none judges is there without judgments. Raises
    CollectionInvalid.
    """
    qrels = _qrels_file(folder, split)
    assembly = Assembly(_NAMES)
    for line, record in _records(folder / "corpus.jsonl"):
        assembly.add_document(line, _document(line, record))
    for line, record in _records(folder / "queries.jsonl"):
        assembly.add_query(line, _query(line, record))
    for line, (query_id, document_id, score) in _rows(qrels):
        assembly.judge(line, query_id, document_id, _relevance(line, score))
    others = (file for file in _splits(folder) if file != qrels)
    return assembly.collection(frozenset(row[0] for file in others for _, row in _rows(file)))


def _qrels_file(folder: Path, split: str | None) -> Path:
    found = {file.stem: file for file in _splits(folder)}
    name = split or (next(iter(found)) if len(found) == 1 else DEFAULT_SPLIT)
    if name not in found:
        there = ", ".join(found) or "none"
        raise CollectionInvalid(folder / "qrels" / f"{name}.tsv", f"is not there: name a split, of {there}")
    return found[name]


def _splits(folder: Path) -> list[Path]:
    return sorted((folder / "qrels").glob("*.tsv"))


def _records(file: Path) -> Iterator[tuple[Line, dict[str, Any]]]:
    for line in lines_of(file):
        if line.text.isspace():
            continue
        try:
            record = orjson.loads(line.text)
        except orjson.JSONDecodeError as error:
            raise CollectionInvalid(file, f"is no JSON ({error}): mend it", line=line.number) from error
        if not isinstance(record, dict):
            raise CollectionInvalid(file, "is no JSON object: write one a line", line=line.number)
        yield line, record


def _document(line: Line, record: dict[str, Any]) -> Document:
    metadata = _metadata(record)
    media_type = _noted(metadata, "media_type", _MEDIA)
    return Document(
        _text(line, record, "_id"),
        _text(line, record, "title", default=""),
        _text(line, record, "text"),
        path=_noted(metadata, "path", _PATH),
        kind=_noted(metadata, "kind", _KIND),
        media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else "text/plain",
    )


def _query(line: Line, record: dict[str, Any]) -> Query:
    query_id, metadata = _text(line, record, "_id"), _metadata(record)
    notes = _noted(metadata, "notes", _NOTES) or f"query {query_id}"
    return Query(query_id, _text(line, record, "text"), _noted(metadata, "category", _CATEGORY), notes)


def _text(line: Line, record: dict[str, Any], name: str, default: str | None = None) -> str:
    value = record.get(name, default)
    if not isinstance(value, str):
        raise line.wrong(name, "is not there: add it" if name not in record else "is no string: make it one")
    return value


def _metadata(record: dict[str, Any]) -> dict[str, Any]:
    metadata = record.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _noted(metadata: dict[str, Any], name: str, limit: int) -> str:
    """Return what an export noted; what others wrote under the name, in their own way, is passed over."""
    value = metadata.get(name)
    return value if isinstance(value, str) and "\0" not in value and len(value.encode("utf-8")) <= limit else ""


def _rows(file: Path) -> Iterator[tuple[Line, list[str]]]:
    last = Line(file, 1, "")

    def texts() -> Iterator[str]:
        nonlocal last
        for last in lines_of(file):
            yield last.text

    try:
        rows = (row for row in csv.reader(texts(), delimiter="\t", strict=True) if row)
        if next(rows, None) != _COLUMNS:
            raise CollectionInvalid(file, f"is not the head {', '.join(_COLUMNS)}: add it", line=last.number)
        for row in rows:
            if len(row) != len(_COLUMNS):
                problem = f"has {len(row)} columns: it must have {len(_COLUMNS)}, {', '.join(_COLUMNS)}"
                raise CollectionInvalid(file, problem, line=last.number)
            yield last, row
    except csv.Error as error:
        raise CollectionInvalid(file, f"is no line of tab-separated values ({error})", line=last.number) from error


def _relevance(line: Line, score: str) -> int:
    if _WHOLE_NUMBER.fullmatch(score) is None:
        raise line.wrong("score", f"{score!r} is no whole number: write one from 0 to 3")
    return int(score)

"""Reads the files of the Cranfield collection: cran.all.1400, cran.qry and cranqrel (Cleverdon, 1967).

Records are in SMART's format: ".I" and a number, then fields that each begin with a line of a dot and a letter.
Judgments number the queries by their place in cran.qry and not by what stands after ".I". A lower code is more
relevant: 1, 2, 3 and 4 are relevance 3, 2, 1 and 1, and -1, which nobody has explained, is dropped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ranktrail_client.collections.collection import Assembly, Collection, Document, Names, Query
from ranktrail_client.collections.lines import CollectionInvalid, Line, lines_of

RELEVANCE_OF_CODE = {"1": 3, "2": 2, "3": 1, "4": 1}
DROPPED_CODE = "-1"
_NAMES = Names(".I", ".T", ".W", "query", "document", "code")
_COLUMN_COUNT = 3
_BEGIN = re.compile(r"\.I +(\S+)\s*")
_FIELD = re.compile(r"\.([A-Z])\s*")


@dataclass(slots=True)
class _Record:
    """One record: where it begins, its number, and the lines of each of its fields."""

    line: Line
    number: str
    fields: dict[str, list[str]] = field(default_factory=dict)

    def text(self, letter: str) -> str:
        return "\n".join(self.fields.get(letter, ())).strip("\n")

    def one_line(self, letter: str) -> str:
        return " ".join(self.text(letter).split())


def read_cranfield(folder: Path) -> Collection:
    """Read the folder; the id of a query is its place, from "1" on. Raises CollectionInvalid."""
    assembly = Assembly(_NAMES)
    for record in _records(folder / "cran.all.1400", "TABW"):
        assembly.add_document(record.line, Document(record.number, record.one_line("T"), record.text("W")))
    for place, record in enumerate(_records(folder / "cran.qry", "W"), start=1):
        assembly.add_query(record.line, Query(str(place), record.one_line("W"), notes=f"query {place}"))
    for line in lines_of(folder / "cranqrel"):
        _judge(assembly, line)
    return assembly.collection()


def _records(file: Path, letters: str) -> Iterator[_Record]:
    record, lines = None, None
    for line in lines_of(file):
        if begin := _BEGIN.fullmatch(line.text):
            if record is not None:
                yield record
            record, lines = _Record(line, begin[1]), None
        elif record is not None and (found := _FIELD.fullmatch(line.text)):
            if found[1] not in letters:
                raise line.wrong(f".{found[1]}", f"is no field of this file: it has .{', .'.join(letters)}")
            lines = record.fields.setdefault(found[1], [])
        elif lines is not None:
            lines.append(line.text.rstrip("\r\n"))
        else:
            raise line.wrong(".I", "and a field must stand before any text: add them")
    if record is None:
        raise CollectionInvalid(file, "has no records: each begins with .I and a number")
    yield record


def _judge(assembly: Assembly, line: Line) -> None:
    row = line.text.split()
    if not row:
        return
    if len(row) != _COLUMN_COUNT:
        problem = f"has {len(row)} columns: it must have {_COLUMN_COUNT}, query, document and code"
        raise CollectionInvalid(line.file, problem, line=line.number)
    query_id, document_id, code = row
    if code == DROPPED_CODE:
        return
    if code not in RELEVANCE_OF_CODE:
        raise line.wrong("code", f"{code!r} is none: it must be 1, 2, 3, 4 or {DROPPED_CODE}")
    assembly.judge(line, query_id, document_id, RELEVANCE_OF_CODE[code])

"""Reads a fixture that lies in a file: first all of it, to check it, then any part again."""

import mmap
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from history_service.domain.digest import canonical_json
from history_service.domain.errors import FixtureInvalid
from history_service.exchange.fixture import MEMBERS, UNDIGESTED, DocumentDigest, Element, digested
from history_service.exchange.fixture_check import SetCheck, SetContents
from history_service.exchange.json_reader import JsonReader
from history_service.exchange.schema import FIXTURE_SCHEMA, FORMAT_VERSION
from history_service.exchange.shape import shape_check

ELEMENT_LIMITS = {
    "bodies": 201_400_000,
    "cases": 33_554_432,
    "corpora": 16_384,
    "judgment_versions": 16_777_216,
    "resources": 65_536,
}
"""Characters of one element as JSON, where a character of text takes up to six: more than any export writes."""
_VALUE_LIMIT = 16_777_216
_NAME_LIMIT = 4_096
_SCHEMAS = FIXTURE_SCHEMA["properties"]
_CHECKS = {
    name: shape_check(schema["items"] if name in ELEMENT_LIMITS else schema) for name, schema in _SCHEMAS.items()
}
_VERSION_KEY = b'"format_version"'
_VERSION = re.compile(rb"\s*:\s*([^\s,}]{1,64})")


class FixtureFile:
    """A fixture in a file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._positions: dict[str, int] = {}
        self._digest = DocumentDigest()
        self._sha256 = ""

    def check(self) -> SetContents:
        """Read everything once and return what is in it.

        Raise FixtureInvalid, naming the field, or BlobDigestMismatch, at the first thing that is wrong. What a set may
        not hold beside what is stored already is for whoever stores it.
        """
        _check_version(self._file)
        reader, check = JsonReader(self._file), SetCheck()
        reader.expect("{")
        for number, name in enumerate(MEMBERS):
            self._go_to(reader, name, number == 0)
            if name in ELEMENT_LIMITS:
                self._check_array(reader, name, check)
            else:
                self._check_member(reader, name)
        reader.where = "document"
        if reader.take(","):
            raise FixtureInvalid(str(reader.value(_NAME_LIMIT)), "is no field of a fixture")
        reader.expect("}")
        reader.expect_end()
        contents = check.contents()
        if self._sha256 != self._digest.hexdigest():
            problem = "is not the digest of the document: it was damaged or changed after its export"
            raise FixtureInvalid("sha256", problem)
        return contents

    def elements(self, name: str) -> Iterator[tuple[str, Element]]:
        """Yield (field, element) of an array of a fixture that was checked; `field` names it in errors."""
        reader = JsonReader(self._file, self._positions[name])
        reader.where = name
        for number, element in enumerate(reader.elements(ELEMENT_LIMITS[name])):
            yield f"{name}[{number}]", element

    def _go_to(self, reader: JsonReader, name: str, first: bool) -> None:
        reader.where = "document"
        if reader.take("}"):
            raise FixtureInvalid(name, "is missing")
        if not first:
            reader.expect(",")
        found = reader.value(_NAME_LIMIT)
        if found != name:
            known = found in MEMBERS
            raise FixtureInvalid(name if known else str(found), "is missing" if known else "is no field of a fixture")
        reader.expect(":")
        reader.where = name

    def _check_array(self, reader: JsonReader, name: str, check: SetCheck) -> None:
        self._positions[name] = reader.position
        self._digest.begin(name, b"[")
        for number, element in enumerate(reader.elements(ELEMENT_LIMITS[name])):
            field = f"{name}[{number}]"
            _CHECKS[name](element, field)
            self._digest.add((b"," if number else b"") + digested(name, element))
            check.take(name, field, element)
        self._digest.add(b"]")

    def _check_member(self, reader: JsonReader, name: str) -> None:
        value: Any = reader.value(_VALUE_LIMIT)
        _CHECKS[name](value, name)
        if name not in UNDIGESTED:
            self._digest.begin(name, canonical_json(value))
        if name == "sha256":
            self._sha256 = value


def _check_version(file: BinaryIO) -> None:
    """Raise FixtureInvalid for another version of the format, before anything else of it is looked at."""
    if not os.fstat(file.fileno()).st_size:
        raise FixtureInvalid("document", "is empty")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        # Inside a text the quotes would be escaped, so these are a member's.
        at = content.rfind(_VERSION_KEY)
        found = None if at < 0 else _VERSION.match(content, at + len(_VERSION_KEY))
        said = None if found is None else found[1].decode("utf-8", "replace")
    if said is not None and said != str(FORMAT_VERSION):
        raise FixtureInvalid("format_version", f"is {said} and this release reads {FORMAT_VERSION}")

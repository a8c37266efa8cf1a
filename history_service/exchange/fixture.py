"""A fixture: one JSON document that holds an evaluation set with everything that it rests on.

Its members are arrays of small elements, in the order of stable ids, so that a set of any size is written and read
element by element. The document is canonical JSON; `schema` says what it holds.
"""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from history_service.domain.digest import canonical_json, digest_of
from history_service.domain.errors import BlobDigestMismatch, FixtureInvalid
from history_service.exchange.canonical import quick_json, time_text
from history_service.exchange.schema import FIXTURE_SCHEMA, FORMAT_VERSION

Element = dict[str, Any]
MEMBERS: tuple[str, ...] = tuple(FIXTURE_SCHEMA["properties"])
UNDIGESTED = ("exported_at", "sha256")
"""Members that the document's own digest does not cover."""


def body_element(digest: str, body: bytes) -> Element:
    """Return a body as text where it is UTF-8, else as base64."""
    try:
        encoding, content = "utf-8", body.decode("utf-8")
    except UnicodeDecodeError:
        encoding, content = "base64", base64.b64encode(body).decode("ascii")
    return {"content": content, "digest": digest, "encoding": encoding, "size_bytes": len(body)}


def body_of(element: Element, field: str) -> bytes:
    """Return the bytes of a body; raise BlobDigestMismatch, or FixtureInvalid when `body_element` writes it otherwise.

    `field` names the element in errors.
    """
    digest, content, encoding = element["digest"], element["content"], element["encoding"]
    body = content.encode("utf-8") if encoding == "utf-8" else _from_base64(content, field)
    if len(body) != element["size_bytes"]:
        raise BlobDigestMismatch(digest, f"{field} has {len(body)} bytes and not {element['size_bytes']}")
    if digest_of(body) != digest:
        raise BlobDigestMismatch(digest, f"{field} has bytes of another digest")
    if encoding == "base64" and body_element(digest, body)["content"] != content:
        raise FixtureInvalid(f"{field}.content", "is base64 with stray bits, or of what is text")
    return body


def _from_base64(content: str, field: str) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise FixtureInvalid(f"{field}.content", "is not base64") from error


class DocumentDigest:
    """The digest that ends a fixture, over what its schema's `sha256` says, fed in the order of the members."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._members = 0

    def begin(self, name: str, content: bytes) -> None:
        """Take a member's name and the first bytes of its value."""
        self._hash.update(b"," if self._members else b"{")
        self._hash.update(canonical_json(name) + b":" + content)
        self._members += 1

    def add(self, content: bytes) -> None:
        """Take more bytes of the value."""
        self._hash.update(content)

    def hexdigest(self) -> str:
        """Return the digest of the whole."""
        self._hash.update(b"}")
        return self._hash.hexdigest()


def digested(name: str, element: Element) -> bytes:
    """Return what the document's digest covers of an element of a member."""
    covered = {key: value for key, value in element.items() if key != "content"} if name == "bodies" else element
    return canonical_json(covered)


class FixtureWriter:
    """Writes a fixture, member by member in the order of MEMBERS; every method yields the next bytes."""

    def __init__(self) -> None:
        self._digest = DocumentDigest()
        self._expected = iter(MEMBERS)
        self._open = b"{"

    def array(
        self, name: str, elements: Iterable[Element], encode: Callable[[Element], bytes] = quick_json
    ) -> Iterator[bytes]:
        """Write a member that is an array; `encode` returns what `canonical_json` would of an element."""
        yield self._named(name) + b"["
        self._digest.begin(name, b"[")
        comma = b""
        for element in elements:
            content = encode(element)
            self._digest.add(comma + (digested(name, element) if name == "bodies" else content))
            yield comma
            yield content
            comma = b","
        self._digest.add(b"]")
        yield b"]"

    def member(self, name: str, value: Any) -> Iterator[bytes]:
        """Write any other member."""
        content = canonical_json(value)
        if name not in UNDIGESTED:
            self._digest.begin(name, content)
        yield self._named(name) + content

    def head(self, exported_at_us: int) -> Iterator[bytes]:
        """Write the time and the version of the format."""
        yield from self.member("exported_at", time_text(exported_at_us))
        yield from self.member("format_version", FORMAT_VERSION)

    def end(self) -> Iterator[bytes]:
        """Write the digest of what came before, and end the document."""
        yield from self.member("sha256", self._digest.hexdigest())
        yield b"}"

    def _named(self, name: str) -> bytes:
        if next(self._expected) != name:
            raise ValueError(f"{name} is not the next member of a fixture")
        opened, self._open = self._open, b","
        return opened + canonical_json(name) + b":"

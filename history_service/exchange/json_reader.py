"""Reads a large JSON document value by value, so that memory holds no more than one of them."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from history_service.domain.errors import FixtureInvalid

_READ_BYTES = 262_144
_SPACE = re.compile(r"[ \t\n\r]*")
_FRACTION = ".eE"
_LONGEST_TOKEN = 400
"""Characters of the longest number, word or escape; an error this near to the end may be one of a value cut off."""


class JsonReader:
    """A place in a document. `where` says, for errors, which part of the document is being read."""

    def __init__(self, file: BinaryIO, position: int = 0) -> None:
        """Begin at a byte position."""
        file.seek(position)
        self._file = file
        self._read = position
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._values = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)
        self._text = ""
        self._at = 0
        self._ended = False
        self.where = "document"

    @property
    def position(self) -> int:
        """The byte position; only between values that were read whole."""
        pending = len(self._decoder.getstate()[0])
        return self._read - pending - len(self._text[self._at :].encode("utf-8"))

    def take(self, token: str) -> bool:
        """Go past a punctuation mark, if it is next; say whether it was."""
        if self._next() != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        """Go past a punctuation mark; raise FixtureInvalid when something else is next."""
        if not self.take(token):
            self._refuse(f"lacks {token!r}" if self._next() else "is cut off")

    def value(self, limit: int) -> Any:
        """Return the next value; raise FixtureInvalid when it is none, or has more than `limit` characters."""
        self._next()
        while True:
            try:
                value, end = self._values.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                problem = self._problem(error)
            except (ValueError, RecursionError) as error:
                problem = str(error) if isinstance(error, ValueError) else "is nested too deeply"
            else:
                # A number that ends with the text at hand may go on, as in 0|.5 and 0.|5.
                if self._ended or (end < len(self._text) and self._text[end] not in _FRACTION):
                    self._at = end
                    return value
                problem = ""
            if problem or self._ended:
                self._refuse(problem or "is cut off")
            if len(self._text) - self._at > limit:
                self._refuse(f"has more than {limit} characters")
            self._more()

    def elements(self, limit: int) -> Iterator[Any]:
        """Yield the elements of an array, each of at most `limit` characters."""
        name = self.where
        self.expect("[")
        number = 0
        while not self.take("]"):
            self.where = f"{name}[{number}]"
            if number:
                self.expect(",")
            yield self.value(limit)
            number += 1
            self.where = f"{name}[{number}]"
        self.where = name

    def expect_end(self) -> None:
        """Raise FixtureInvalid when anything but white space follows."""
        if self._next():
            self._refuse("goes on after its end")

    def _next(self) -> str:
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._more()

    def _more(self) -> None:
        # Doubles what is at hand, so that a long value is not tried too often.
        content = self._file.read(max(_READ_BYTES, len(self._text) - self._at))
        self._read += len(content)
        self._ended = not content
        try:
            more = self._decoder.decode(content, final=self._ended)
        except UnicodeDecodeError as error:
            raise FixtureInvalid(self.where, "is not UTF-8") from error
        self._text, self._at = self._text[self._at :] + more, 0

    def _problem(self, error: json.JSONDecodeError) -> str:
        """Say what is wrong with a value, or nothing where it may only be cut off by the end of the text at hand."""
        cut_off = error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _LONGEST_TOKEN
        if cut_off and not self._ended:
            return ""
        return "is cut off" if cut_off and error.pos >= len(self._text) else f"is not JSON: {error.msg}"

    def _refuse(self, problem: str) -> NoReturn:
        raise FixtureInvalid(self.where, problem)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"has the member {twice!r} twice")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"holds {word}, which is no JSON")

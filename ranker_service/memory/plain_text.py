"""Plain text and source code: one section, split where a reader would."""

import re
from collections.abc import Iterator

from ranker_service.memory.sections import Section, section_of

# A line end, then at least one line of nothing but blanks.
_GAP = re.compile(rb"(?:\r\n|\r|\n)(?:[ \t\f\v]*+(?:\r\n|\r|\n))++")
# What continues the block above it although it stands after an empty line at the left margin.
_CONTINUES = b" \t)]}>"


def plain_section(body: bytes, start: int) -> Section:
    """Return `body[start:]` as one section whose blocks are paragraphs, each with the empty lines after it."""
    return section_of((), len(body), _paragraph_starts(body, start))


def code_section(body: bytes, start: int) -> Section:
    """Return `body[start:]` as one section; a block begins at the left margin after an empty line.

    A function thus keeps the empty lines inside it, and the bracket that closes it.
    """
    return section_of((), len(body), _definition_starts(body, start))


def _paragraph_starts(body: bytes, start: int) -> Iterator[int]:
    yield start
    for gap in _GAP.finditer(body, start):
        if gap.end() < len(body):
            yield gap.end()


def _definition_starts(body: bytes, start: int) -> Iterator[int]:
    starts = _paragraph_starts(body, start)
    yield next(starts)
    yield from (position for position in starts if body[position] not in _CONTINUES)

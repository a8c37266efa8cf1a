"""Markdown: sections between top-level headings, by markdown-it-py's block rules alone (CommonMark).

A heading inside a quote or a list belongs to what is quoted or listed and begins no section, as HTML's sectioning roots
have it. The tokens are read as they appear and then let go: kept, those of a hostile file would fill the memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import SupportsIndex

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ranker_service.domain.blank import is_blank
from ranker_service.domain.limits import SECTIONS_PER_RESOURCE
from ranker_service.memory.headings import heading_text
from ranker_service.memory.lines import line_starts, with_line_feeds
from ranker_service.memory.sections import Section, section_of


def new_block_parser() -> MarkdownIt:
    """Return a parser that reads blocks and leaves their text alone."""
    return MarkdownIt("commonmark").disable("inline")


def markdown_sections(text: str, body: bytes, start: int) -> tuple[Section, ...]:
    """Return the sections of `body[start:]`, which decodes to `text`; none where it is blank."""
    if is_blank(text):
        return ()
    outline = _Outline()
    parser = new_block_parser()
    parser.block.parse(with_line_feeds(text).replace("\0", "\ufffd"), parser, {}, outline)
    outline.read_last()
    starts = line_starts(body, start)
    offsets = starts[outline.block_lines].tolist()
    return tuple(_sections(body, start, offsets, outline.headings))


@dataclass(slots=True)
class _Heading:
    """The heading that is the `block`-th block."""

    block: int
    level: int
    text: str


class _Outline(list[Token]):
    """Where markdown-it puts its tokens. It stays empty and keeps the first line of each block, and the headings.

    A rule sets a token's lines and content after it added it, so a token is read when the next one comes. No rule reads
    a token back, but for the list rule, which looks for paragraphs to hide and rightly finds none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block_lines: list[int] = []
        self.headings: list[_Heading] = []
        self._last: Token | None = None

    def append(self, token: Token, /) -> None:
        last, self._last = self._last, token
        if last is None:
            return
        if last.map and last.level == 0:
            self._begin_block(last)
        elif last.map and last.level == 1 and last.type == "list_item_open" and last.map[0] > self.block_lines[-1]:
            self.block_lines.append(last.map[0])

    def _begin_block(self, opening: Token) -> None:
        ...

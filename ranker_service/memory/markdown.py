"""Markdown: sections between top-level headings, by markdown-it-py's block rules (CommonMark).

A heading inside a quote or a list belongs to what is quoted or listed and begins no section, as HTML's sectioning roots
have it. Tokens are read as they appear and let go: kept, those of a hostile file would fill the memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ranker_service.domain.blank import is_blank
from ranker_service.domain.limits import SECTIONS_PER_RESOURCE
from ranker_service.memory.headings import heading_text
from ranker_service.memory.lines import line_starts, with_line_feeds
from ranker_service.memory.sections import Section, section_of

# Past it markdown-it takes the rest of the file for one block; its own 20 is only ten lists deep.
_MAX_NESTING = 40


def block_parser() -> MarkdownIt:
    """Return a parser that reads blocks and leaves the text inside them alone."""
    return MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING}).disable("inline")


def markdown_sections(text: str, body: bytes, start: int) -> tuple[Section, ...]:
    """Return the sections of `body[start:]`, which decodes to `text`; a blank start is in none of them."""
    outline = _Outline()
    parser = block_parser()
    parser.block.parse(with_line_feeds(text).replace("\0", "\ufffd"), parser, {}, outline)
    outline.read_last()
    starts = line_starts(body, start)[outline.block_lines].tolist() if outline.block_lines else []
    return tuple(_sections(body, start, starts, outline.headings))


@dataclass(slots=True)
class _Heading:
    """A heading, and the position of its block."""

    block: int
    level: int
    text: str


class _Outline(list[Token]):
    """Where markdown-it puts its tokens. It stays empty, and keeps the first line of each block, and the headings.

    A rule sets a token's lines and text after it added it, so a token is read when the next one comes. No rule reads a
    token back, but for the list rule, which looks for paragraphs to hide and rightly finds none.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block_lines: list[int] = []
        self.headings: list[_Heading] = []
        self._last: Token | None = None
        self._in_heading = False

    def append(self, token: Token, /) -> None:
        self.read_last()
        self._last = token

    def read_last(self) -> None:
        """Read the token that was added last."""
        token, self._last = self._last, None
        if token is None or token.map is None:
            return
        if token.level == 0:
            self._begin_block(token, token.map[0])
        elif token.level == 1 and token.type == "list_item_open":
            self._begin_item(token.map[0])
        elif token.level == 1 and self._in_heading:
            self.headings[-1].text = heading_text(token.content)
            self._in_heading = False

    def _begin_block(self, token: Token, line: int) -> None:
        if token.type == "heading_open" and len(self.headings) < SECTIONS_PER_RESOURCE:
            self.headings.append(_Heading(len(self.block_lines), int(token.tag[1:]), ""))
            self._in_heading = True
        self.block_lines.append(line)

    def _begin_item(self, line: int) -> None:
        if line > self.block_lines[-1]:
            self.block_lines.append(line)


def _sections(body: bytes, start: int, starts: list[int], headings: list[_Heading]) -> Iterator[Section]:
    """Cut `body[start:]` before each heading; its blocks begin at `starts`."""
    path: list[_Heading] = []
    first_heading = headings[0].block if headings else len(starts)
    end = starts[first_heading] if headings else len(body)
    if not is_blank(body[start:end].decode("utf-8")):
        yield section_of((), end, [start, *starts[1:first_heading]])
    for heading, following in zip_longest(headings, headings[1:]):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        last = following.block if following else len(starts)
        # The block after a heading is joined to it: a heading alone says little.
        inside = [starts[heading.block], *starts[heading.block + 2 : last]]
        heading_path = tuple(above.text for above in path if above.text)
        yield section_of(heading_path, starts[last] if following else len(body), inside)

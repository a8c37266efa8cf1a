"""What a parser makes of a body."""

from collections.abc import Iterable
from dataclasses import dataclass

SHORT_BLOCK_BYTES = 32
"""A block shorter than this joins the next one: it makes no unit of its own anyway."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it until the next heading.

    `start` and `end` are byte offsets into the body. `blocks` are (start, end) byte spans without a gap from `start`
    to `end`; a section is best split between them.
    """

    heading_path: tuple[str, ...]
    start: int
    end: int
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ParsedResource:
    """A body as text: its own title (empty where it has none), all of its text, and its sections.

    The sections follow each other without a gap to the body's end; before the first one there is nothing but a
    byte-order mark, front matter and white space.
    """

    title: str
    text: str
    sections: tuple[Section, ...]


class NotParsable(ValueError):
    """The body is not text, or no parser handles its media type."""


def section_of(heading_path: tuple[str, ...], end: int, starts: Iterable[int]) -> Section:
    """Make a section that ends at `end`; its blocks begin at `starts`, ascending, and it begins with the first."""
    kept: list[int] = []
    for start in starts:
        if not kept or start - kept[-1] >= SHORT_BLOCK_BYTES:
            kept.append(start)
    return Section(heading_path, kept[0], end, tuple(zip(kept, [*kept[1:], end], strict=True)))

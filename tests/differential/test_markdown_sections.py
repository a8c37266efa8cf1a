"""Sections against those read from markdown-it-py's own complete parse of the same text."""

from hypothesis import example, given
from markdown_it import MarkdownIt

from ranker_service.memory.markdown import block_parser, markdown_sections
from tests.unit.memory.texts import texts


def line_offsets(text: str) -> list[int]:
    """Where lines begin, in bytes, read character by character."""
    offsets, position = [0], 0
    for index, character in enumerate(text):
        position += len(character.encode())
        if character == "\n" or (character == "\r" and text[index + 1 : index + 2] != "\n"):
            offsets.append(position)
    return offsets


def heading_offsets(parser: MarkdownIt, text: str) -> list[int]:
    """Where top-level headings begin, in bytes."""
    offsets = line_offsets(text)
    tokens = parser.parse(text)
    return [offsets[t.map[0]] for t in tokens if t.type == "heading_open" and t.level == 0 and t.map]


@given(texts)
@example("a\u2028# b\n# c\x0b\x0c\x85\n\r# d\r\n=\n\0\n===\n")
@example("- a\n\n  # b\n# c\n> # d\ne\n===\n")
def test_sections_begin_where_a_complete_parse_finds_top_level_headings(text: str) -> None:
    sections = markdown_sections(text, text.encode(), 0)
    begun = [section.start for section in sections if section.start != 0]
    assert begun == [offset for offset in heading_offsets(block_parser(), text) if offset != 0]


@given(texts)
def test_inline_parsing_would_change_no_section(text: str) -> None:
    with_inline = MarkdownIt("commonmark", {"maxNesting": 40})
    assert heading_offsets(with_inline, text) == heading_offsets(block_parser(), text)


@given(texts)
def test_blocks_begin_where_a_complete_parse_finds_top_level_blocks_or_list_items(text: str) -> None:
    offsets = line_offsets(text)
    found = {
        offsets[token.map[0]]
        for token in block_parser().parse(text)
        if token.map and (token.level == 0 or (token.level == 1 and token.type == "list_item_open"))
    }
    sections = markdown_sections(text, text.encode(), 0)
    begun = {start for section in sections for start, _ in section.blocks}
    assert begun - {0} <= found

"""Parsers: what a body says, by the rules of its media type. Bytes are never changed."""

import markdown_it

from ranker_service.domain.blank import is_blank
from ranker_service.domain.limits import MARKDOWN_LINES
from ranker_service.domain.resource import ParseState
from ranker_service.memory.front_matter import split_front_matter
from ranker_service.memory.markdown import markdown_sections
from ranker_service.memory.media_types import Rules, guess_media_type, rules_of
from ranker_service.memory.plain_text import code_section, plain_section
from ranker_service.memory.sections import NotParsable, ParsedResource, Section

__all__ = ["PARSER_REVISION", "NotParsable", "ParsedResource", "Section", "guess_media_type", "inspect", "parse"]

PARSER_REVISION = f"parsers.v1 markdown-it-py={markdown_it.__version__}"


def inspect(media_type: str, body: bytes) -> ParseState:
    """Say whether `body` can be turned into units; the same answer as `parse` would come to, but sooner."""
    rules = rules_of(media_type)
    if rules is None:
        return ParseState.NO_PARSER
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return ParseState.NOT_UTF8
    return ParseState.BLANK if is_blank(text[_content_start(rules, text)[0] :]) else ParseState.PARSED


def parse(media_type: str, body: bytes) -> ParsedResource:
    """Return the sections of `body`, none where it is blank; raise NotParsable for a body that `inspect` refuses."""
    rules = rules_of(media_type)
    if rules is None:
        raise NotParsable(f"no parser handles {media_type}")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotParsable(f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
    first, title = _content_start(rules, text)
    content = text[first:]
    if is_blank(content):
        return ParsedResource(title, text, ())
    sections = _sections(rules, content, body, len(body) - len(content.encode("utf-8")))
    return ParsedResource(title or _first_heading(sections), text, sections)


def _content_start(rules: Rules, text: str) -> tuple[int, str]:
    """Return how many characters of `text` are byte-order mark and front matter, and the title in them."""
    mark = 1 if text.startswith("\ufeff") else 0
    if rules is not Rules.MARKDOWN:
        return mark, ""
    length, title = split_front_matter(text[mark:])
    return mark + length, title


def _sections(rules: Rules, content: str, body: bytes, start: int) -> tuple[Section, ...]:
    if rules is Rules.CODE:
        return (code_section(body, start),)
    if rules is Rules.MARKDOWN and content.count("\n") + content.count("\r") <= MARKDOWN_LINES:
        return markdown_sections(content, body, start)
    return (plain_section(body, start),)


def _first_heading(sections: tuple[Section, ...]) -> str:
    return next((section.heading_path[0] for section in sections if section.heading_path), "")

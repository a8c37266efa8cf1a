"""Headings: their text without markup, and the slugs that unit keys are made of."""

import html
import re
import unicodedata

from ranker_service.domain.limits import HEADING_BYTES

# Each pattern stops at the character that could begin another match, so that no input makes them slow.
_LINK = re.compile(r"!?\[([^\[\]]*+)\](?:\([^()]*+\)|\[[^\[\]]*+\])")
_TAG = re.compile(r"</?[A-Za-z!][^<>]*+>")
_ATTRIBUTES = re.compile(r"\{[#.][^{}]*+\}\s*$")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*++|`++|~~++)|(?<![\w\\])_++(?=\S)|(?<=[^\s\\])_++(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_RAW_CHARACTERS = 4 * HEADING_BYTES


def heading_text(raw: str) -> str:
    """Return a heading's inline Markdown as plain text of at most 512 bytes, white space folded; it may be empty."""
    text = _ATTRIBUTES.sub("", raw[:_RAW_CHARACTERS])
    text = _TAG.sub("", _LINK.sub(r"\1", text))
    text = html.unescape(_ESCAPE.sub(r"\1", _EMPHASIS.sub("", text)))
    return cut_bytes(" ".join(text.split()), HEADING_BYTES)


def cut_bytes(text: str, limit: int) -> str:
    """Return the longest start of `text` that has at most `limit` bytes of UTF-8."""
    return text.encode("utf-8")[:limit].decode("utf-8", "ignore")


def slug(heading: str) -> str:
    """Return `heading` as part of a key: NFKC, case-folded, letters, marks and digits, hyphens between."""
    folded = unicodedata.normalize("NFKC", heading).casefold()
    kept = (c if c.isalnum() or unicodedata.category(c).startswith("M") else " " for c in folded)
    return "-".join("".join(kept).split()) or "-"

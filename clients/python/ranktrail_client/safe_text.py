"""Text from a memory, made safe for a terminal."""

import re

# What steers a terminal or the order of its characters: C0 and C1 controls, DEL, line and paragraph separators, the
# bidirectional marks, embeddings, overrides and isolates, invisible tag characters, and surrogates, which are no text.
UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


def safe_line(text: str) -> str:
    """Return `text` on one line, each unsafe character replaced by a visible one."""
    return UNSAFE.sub(_visible, text.replace("\t", " "))


def safe_block(text: str) -> str:
    """Return `text` with its line feeds and tabs, each other unsafe character replaced by a visible one."""
    return UNSAFE.sub(lambda match: match[0] if match[0] in "\n\t" else _visible(match), text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    """Return the control picture of a C0 control or DEL, and the replacement character for anything else."""
    point = ord(match[0])
    if point < 0x20:  # noqa: PLR2004 - the first printable character
        return chr(0x2400 + point)
    return "\u2421" if point == 0x7F else "\ufffd"  # noqa: PLR2004 - DEL

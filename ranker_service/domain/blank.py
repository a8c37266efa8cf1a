"""Blank text: nothing that a person or an encoder would see."""

import re

_VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def is_blank(text: str) -> bool:
    """Say whether `text` is only white space, control characters, byte-order marks and zero-width characters.

    `str.strip` does not know U+FEFF or U+200B, and the vector of such a text resembles everything.
    """
    return _VISIBLE.search(text) is None

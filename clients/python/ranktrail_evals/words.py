"""Text as words, for comparing passages: NFKC, case-folded, everything but letters, numbers and marks a space.

In scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) each character is a word.
"""

import unicodedata

import regex

SPACELESS = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
INVISIBLE = regex.compile(r"\p{Cf}+")
"""Soft hyphens, joiners and the like, which stand inside words and are no part of them."""
_WORD = regex.compile(rf"[{SPACELESS}]\p{{M}}*|[[\p{{L}}\p{{N}}\p{{M}}]--[{SPACELESS}]]+", regex.VERSION1)


def words(text: str) -> list[str]:
    """Return the words in text order."""
    return _WORD.findall(_folded(INVISIBLE.sub("", text)))


def _folded(text: str) -> str:
    # Case folding can undo a composition, and composing can make a character that folds.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())

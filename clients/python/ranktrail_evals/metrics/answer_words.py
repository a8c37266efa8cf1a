"""Answers as words, for comparing them: what carries meaning stays.

As in SQuAD's evaluation (Rajpurkar et al., EMNLP 2016) case, punctuation and articles do not count. Unlike there, a
number keeps its sign and what separates its digits, `C#` its sign, symbols such as `$` stay, an article goes only where
a word follows it, punctuation is Unicode's, and scripts without spaces are compared character by character.
"""

import unicodedata

import regex

from ranktrail_evals.words import INVISIBLE, SPACELESS

_ARTICLES = frozenset({"a", "an", "the"})
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{SPACELESS}]]"
_WORD = regex.compile(
    rf"""
      [{SPACELESS}]\p{{M}}*                                          # a character of a script without spaces
    | (?<![\p{{L}}\p{{N}}]) [-+]? \.? \p{{Nd}}+ (?: [.,:/-] \p{{Nd}}+ )* (?![\p{{L}}\p{{Nd}}]) \p{{No}}*   # a number
    | {_LETTER}+ (?: ' {_LETTER}+ )* (?: \+\+ | \# )?                # a word
    | [\p{{Sc}}\p{{Sm}}\p{{So}}%‰]                                   # a symbol
    """,
    regex.VERSION1 | regex.VERBOSE,
)
_SAME = str.maketrans({"\u2019": "'", "\u02bc": "'", **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")})
_MEANINGFUL_FORMS = ("<super>", "<sub>", "<fraction>")


def answer_words(text: str) -> list[str]:
    """Return the words of an answer in text order; none where there is nothing to compare."""
    found: list[str] = _WORD.findall(_folded(text))
    return [word for word in found[:-1] if word not in _ARTICLES] + found[-1:]


def _folded(text: str) -> str:
    compatible = "".join(map(_compatible, INVISIBLE.sub("", text)))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", compatible).casefold()).translate(_SAME)


def _compatible(character: str) -> str:
    """Return a character in compatibility form, but not one that would change a number: 10² is not 102."""
    if unicodedata.decomposition(character).startswith(_MEANINGFUL_FORMS):
        return character
    return unicodedata.normalize("NFKC", character)

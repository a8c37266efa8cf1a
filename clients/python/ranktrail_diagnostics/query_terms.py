"""The terms of a query, found again in a text.

The ranker's tokens are not part of the contract, so this is a reading aid and no account of what BM25 matched: words
with the same English stem, parts of identifiers, and neighbouring characters of scripts without spaces.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

import Stemmer

# A word, or a part of one as camelCase and snake_case separate them.
_WORD = re.compile("(?:[^\\W_][\u0300-\u036f]*)+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\WA-Z_\d]+|\d+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_STOP_WORDS = frozenset(
    (  # noqa: SIM905 - words are easier to read than a list of them
        "a an and are as at be by can do does for from has have how i if in into is it its no not of on or our so that "
        "the their then there these this to was we were what when where which who why will with you your"
    ).split()
)
# A word of a megabyte is nobody's term, and stemming it would take its time.
_LONGEST_WORD = 128


class QueryTerms:
    """What to look for in the texts of one Run. For one thread: a stemmer is no two threads' own."""

    def __init__(self, query: str) -> None:
        self._stem = Stemmer.Stemmer("english").stemWord
        words = [
            _folded(part)
            for word in _WORD.findall(unicodedata.normalize("NFKC", query))
            for part in {word, *_PART.findall(word)}
        ]
        told = [word for word in words if word not in _STOP_WORDS] or words
        self._stems = frozenset(map(self._stem, told))
        self._pairs = frozenset(left + right for run in _UNSPACED.findall(query) for left, right in pairwise(run))

    def split(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield `text` in pieces, each with whether it is a term; joined they are `text` again."""
        done = 0
        for start, end in self._spans(text):
            if start > done:
                yield text[done:start], False
            yield text[max(start, done) : end], True
            done = end
        if done < len(text):
            yield text[done:], False

    def snippet(self, text: str, limit: int) -> list[tuple[str, bool]]:
        """Return pieces of at most `limit` characters of a text on one line: its start, or what is around a term."""
        line = " ".join(text.split())
        first = next((start for start, _ in self._spans(line)), 0)
        start = max(0, min(first - limit // 4, len(line) - limit)) if first > limit * 3 // 4 else 0
        cut = ("…" if start else "") + line[start : start + limit] + ("…" if start + limit < len(line) else "")
        return list(self.split(cut))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        done = 0
        for match in _WORD.finditer(text):
            for start, end in self._in_word(match):
                if end > done:
                    yield max(start, done), end
                    done = end

    def _in_word(self, word: re.Match[str]) -> Iterator[tuple[int, int]]:
        if self._is_term(word[0]):
            yield word.span()
            return
        if self._pairs:
            for at in range(word.start(), word.end() - 1):
                if word.string[at : at + 2] in self._pairs:
                    yield at, at + 2
        for part in _PART.finditer(word[0]):
            if part[0] != word[0] and self._is_term(part[0]):
                yield word.start() + part.start(), word.start() + part.end()

    def _is_term(self, word: str) -> bool:
        return len(word) <= _LONGEST_WORD and self._stem(_folded(word)) in self._stems


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()

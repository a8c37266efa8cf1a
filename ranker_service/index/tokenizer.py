"""Text to lexical tokens: what BM25 counts.

NFKC and case folding; words with the parts of identifiers beside them; CJK runs as bigrams; Snowball English stems.
Units keep their stop words, which therefore count in a unit's length; a query drops them unless nothing else is left,
so that a query of nothing but stop words still finds something.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable

import Stemmer

LEXICAL_TOKENIZER_REVISION = f"words.v1 unicode={unicodedata.unidata_version} snowball=english {Stemmer.version()}"

CACHED_WORDS = 200_000
"""Distinct words whose tokens a thread remembers; past it the memory starts anew."""
CACHED_WORD_CHARACTERS = 40
"""Longer words are hardly ever seen twice."""

STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are aren't as at be because been before being below between
    both but by can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
    further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself
    his how how's i i'd i'll i'm i've if in into is isn't it it's its itself let's me more most mustn't my myself no
    nor not of off on once only or other ought our ours ourselves out over own same shan't she she'd she'll she's
    should shouldn't so some such than that that's the their theirs them themselves then there there's these they
    they'd they'll they're they've this those through to too under until up very was wasn't we we'd we'll we're
    we've were weren't what what's when when's where where's which while who who's whom why why's with won't would
    wouldn't you you'd you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 - easier to hold against its source
)
"""The English list of the Snowball project, https://snowballstem.org/algorithms/english/stop.txt."""


def _marks() -> str:
    r"""Return the regex ranges of combining marks, which Python's `\w` leaves out and words of many scripts hold."""
    marks = {code for code in range(0x300, 0x20000) if unicodedata.category(chr(code)).startswith("M")}
    starts = sorted(code for code in marks if code - 1 not in marks)
    ends = sorted(code for code in marks if code + 1 not in marks)
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


_CJK = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"  # iteration mark, zero, hiragana, katakana
    "\u3105-\u312f\u31a0-\u31bf"  # bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # hangul
)
_CONTRACTIONS = "(?:['\u2019](?:s|t|re|ve|ll|d|m|S|T|RE|VE|LL|D|M)(?!\\w))?"
_ASCII_WORD = re.compile(rf"\w+(?:\.\w+)*{_CONTRACTIONS}", re.ASCII)
_WORD = re.compile(rf"[\w{_marks()}]+(?:\.[\w{_marks()}]+)*{_CONTRACTIONS}")
# Soft hyphens, joiners and variation selectors are invisible inside a word and no part of it.
_IGNORABLE = re.compile("[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_SCRIPT_RUNS = re.compile(f"[{_CJK}]+|[^{_CJK}]+")


def lexical_tokens(text: str) -> list[str]:
    """Return a unit's tokens in text order, stop words included. Safe to call from any thread."""
    tokens: list[str] = []
    cache, stem = _LOCAL.cache, _LOCAL.stem
    for word in _words(text):
        expansion = cache.get(word)
        if expansion is None:
            expansion = tuple(stem(leaf) for leaf in _leaves(word))
            _remember(cache, word, expansion)
        tokens.extend(expansion)
    return tokens


def query_tokens(text: str) -> list[str]:
    """Return a query's tokens in text order, a repeated one as often as it stands.

    Stop words are dropped, unless nothing else is left. Safe to call from any thread.
    """
    leaves = [leaf for word in _words(text) for leaf in _leaves(word)]
    telling = [leaf for leaf in leaves if leaf not in STOP_WORDS]
    return [_LOCAL.stem(leaf) for leaf in telling or leaves]


class _Local(threading.local):
    """A thread's own stemmer, which is not safe to share, and the expansions of the words it has seen."""

    def __init__(self) -> None:
        stemmer = Stemmer.Stemmer("english", 0)
        self.stem: Callable[[str], str] = stemmer.stemWord
        self.cache: dict[str, tuple[str, ...]] = {}


_LOCAL = _Local()


def _remember(cache: dict[str, tuple[str, ...]], word: str, expansion: tuple[str, ...]) -> None:
    if len(word) <= CACHED_WORD_CHARACTERS:
        if len(cache) >= CACHED_WORDS:
            cache.clear()
        cache[word] = expansion


def _words(text: str) -> list[str]:
    """Return the runs of word characters in compatibility form, dotted names whole, case as it stands."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(_IGNORABLE.sub("", unicodedata.normalize("NFKC", text)))


def _leaves(word: str) -> Iterable[str]:
    """Return a word's case-folded tokens before stemming: each whole name, then what it is made of."""
    bare, _, contraction = word.replace("\u2019", "'").partition("'")
    if contraction:
        contracted = f"{bare}'{contraction}".casefold()
        return [contracted] if contracted in STOP_WORDS else _leaves(bare)
    if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower() or word.isupper()):
        return [word.casefold()]
    if _CJK_RUN.search(word):
        return [leaf for run in _SCRIPT_RUNS.findall(word) for leaf in _run_leaves(run)]
    return _name_leaves(word)


def _run_leaves(run: str) -> list[str]:
    """Return the bigrams of a CJK run, a single character as itself; the leaves of any other run."""
    if not _CJK_RUN.match(run):
        return [leaf for name in run.split(".") if name for leaf in _name_leaves(name)]
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _name_leaves(word: str) -> list[str]:
    """Return a name and, where they are not the same, its dotted names and their camelCase and snake_case parts."""
    leaves = [word]
    for name in word.split("."):
        if name != word:
            leaves.append(name)
        parts = [part for run in name.split("_") if run for part in _camel_parts(run)]
        if parts != [name]:
            leaves.extend(parts)
    return [_folded(leaf) for leaf in leaves if leaf.strip("_.")]


def _camel_parts(run: str) -> list[str]:
    """Split before a capital that follows a small letter or digit, or that precedes a small letter after a capital."""
    parts, start = [], 0
    for i in range(1, len(run)):
        before, here = run[i - 1], run[i]
        follows = here.isupper() and (before.islower() or before.isdigit())
        begins = here.isupper() and before.isupper() and i + 1 < len(run) and run[i + 1].islower()
        if follows or begins:
            parts.append(run[start:i])
            start = i
    return [*parts, run[start:]]


def _folded(leaf: str) -> str:
    return leaf.casefold() if leaf.isascii() else unicodedata.normalize("NFKC", leaf.casefold())

"""BM25: `rank_bm25.BM25Okapi` compiled to postings.

BM25Okapi (the ATIRE variant of Trotman, Puurula and Burgess, "Improvements to BM25 and Language Models Examined",
ADCS 2014, with a floor under negative IDF values) is built over the units' tokens; what each term adds to the score of
each unit that holds it is computed once, with the library's own expression, and the library's object is released. A
query adds up the contributions of its tokens, in their order, so its scores are `get_scores` bit for bit.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import orjson
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.ranking import Scored
from ranker_service.index.files import frozen, read_array, write_array, write_bytes
from ranker_service.index.order import in_rank_order
from ranker_service.index.postings_kernel import search_postings
from ranker_service.index.strings import StringFile, Strings
from ranker_service.index.tokenizer import LEXICAL_TOKENIZER_REVISION

_TERMS = "lexical_terms.json"
_TOKENS = "lexical_tokens"
_ARRAYS = ("offsets", "rows", "contributions")
_TERM_ID = np.dtype("<u4")
_EVERY_ROW: NDArray[np.bool_] = frozen(np.empty(0, np.bool_))


def lexical_revision(settings: IndexSettings) -> str:
    """Return what, besides the units, determines BM25 scores."""
    return f"bm25okapi.v1 k1={settings.k1:g} b={settings.b:g} epsilon={settings.epsilon:g} {LEXICAL_TOKENIZER_REVISION}"


@dataclass(frozen=True, slots=True)
class _Postings:
    """Postings by term, read-only.

    offsets (terms + 1,) uint64; rows (postings,) uint32, ascending within a term; contributions (postings,) float64.
    """

    offsets: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    contributions: NDArray[np.float64]


_NO_POSTINGS = _Postings(
    frozen(np.zeros(1, np.uint64)), frozen(np.zeros(0, np.uint32)), frozen(np.zeros(0, np.float64))
)


class LexicalIndex:
    """Immutable; searches may run on any number of threads at once."""

    def __init__(self, terms: Sequence[str], postings: _Postings, tokens: Strings) -> None:
        """Take the postings of terms, and the units' own tokens: little-endian uint32 term ids in text order."""
        self._terms = terms
        self._term_ids = {term: i for i, term in enumerate(terms)}
        self._postings = postings
        self._tokens = tokens
        self._local = threading.local()

    @property
    def unit_count(self) -> int:
        """Units, those without tokens included."""
        return len(self._tokens)

    @property
    def term_count(self) -> int:
        """Distinct terms."""
        return len(self._terms)

    @classmethod
    def build(cls, token_lists: Sequence[Sequence[str]], settings: IndexSettings) -> Self:
        """Index the tokens of each unit, in row order; an empty list is a unit that nothing matches."""
        if not any(token_lists):  # the library divides by the number of tokens
            return cls([], _NO_POSTINGS, Strings.of([b""] * len(token_lists)))
        okapi = BM25Okapi(token_lists, k1=settings.k1, b=settings.b, epsilon=settings.epsilon)
        terms = sorted(okapi.idf)
        term_ids = {term: i for i, term in enumerate(terms)}
        every_token = map(term_ids.__getitem__, chain.from_iterable(token_lists))
        tokens = np.fromiter(every_token, _TERM_ID, sum(okapi.doc_len))
        ends = np.cumsum(okapi.doc_len)[:-1]
        texts = Strings.of([part.tobytes() for part in np.split(tokens, ends)])
        return cls(terms, _compiled(okapi, terms, tokens), texts)

    def search(self, tokens: Sequence[str], limit: int, allowed: NDArray[np.bool_] | None = None) -> list[Scored]:
        """Return the best units that share a token with the query, whatever the sign of their score.

        Order: score rounded to 12 places, descending, then row. `allowed`, of shape (units,), narrows to some rows.
        """
        terms = self._known(tokens)
        if terms.size == 0 or limit < 1:
            return []
        buffers = self._buffers()
        best_keys, best_rows = np.empty(limit), np.empty(limit, np.uint32)
        mask = _EVERY_ROW if allowed is None else frozen(allowed)
        postings = self._postings
        size = search_postings(
            terms, postings.offsets, postings.rows, postings.contributions, mask, *buffers, best_keys, best_rows
        )
        rows = best_rows[:size]
        return in_rank_order(rows, buffers[0][rows])

    def scores(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every unit, shape (units,): `BM25Okapi.get_scores`."""
        scores = np.zeros(self.unit_count)
        for term in self._known(tokens):
            start, end = self._postings.offsets[term : int(term) + 2]
            scores[self._postings.rows[start:end]] += self._postings.contributions[start:end]
        return scores

    def token_list(self, row: int) -> list[str]:
        """Return a unit's tokens, as they were given to `build`."""
        return [self._terms[term] for term in np.frombuffer(self._tokens[row], _TERM_ID).tolist()]

    def save(self, directory: Path) -> list[Path]:
        """Write the index's files, synced, and return them."""
        write_bytes(directory / _TERMS, orjson.dumps(self._terms))
        for name in _ARRAYS:
            write_array(_array_path(directory, name), getattr(self._postings, name))
        arrays = [_array_path(directory, name) for name in _ARRAYS]
        return [directory / _TERMS, *arrays, *self._tokens.save(directory, _TOKENS)]

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Open files that `save` wrote and somebody has checked."""
        postings = _Postings(*(read_array(_array_path(directory, name)) for name in _ARRAYS))
        return cls(orjson.loads((directory / _TERMS).read_bytes()), postings, StringFile.load(directory, _TOKENS))

    def _known(self, tokens: Sequence[str]) -> NDArray[np.uint32]:
        ids = (self._term_ids.get(token) for token in tokens)
        return np.array([term for term in ids if term is not None], np.uint32)

    def _buffers(self) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.uint32]]:
        """Return this thread's scores, marks and list of touched rows; the marks are all false."""
        buffers: tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.uint32]] | None
        buffers = getattr(self._local, "buffers", None)
        if buffers is None:
            count = self.unit_count
            buffers = np.empty(count), np.zeros(count, np.bool_), np.empty(count, np.uint32)
            self._local.buffers = buffers
        return buffers


def warm_up(settings: IndexSettings) -> None:
    """Compile the search, or load it from the cache, before the first query needs it."""
    LexicalIndex.build([["warm"], ["up"]], settings).search(["warm"], 1)


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"lexical_{name}.npy"


def _compiled(okapi: Any, terms: Sequence[str], tokens: NDArray[np.uint32]) -> _Postings:
    """Return the postings of every term, with the expression of `BM25Okapi.get_scores`.

    `tokens` are the term ids of all units, one unit after another.
    """
    lengths = np.array(okapi.doc_len)
    unit_count = len(lengths)
    pairs = tokens.astype(np.int64) * unit_count + np.repeat(np.arange(unit_count), lengths)
    pairs, q_freq = np.unique(pairs, return_counts=True)
    term, row = np.divmod(pairs, unit_count)
    doc_len = lengths[row]
    idf = np.array([okapi.idf[name] for name in terms])[term]
    k1, b = okapi.k1, okapi.b
    contribution = idf * (q_freq * (k1 + 1) / (q_freq + k1 * (1 - b + b * doc_len / okapi.avgdl)))
    offsets = np.zeros(len(terms) + 1, np.uint64)
    np.cumsum(np.bincount(term, minlength=len(terms)), out=offsets[1:])
    return _Postings(frozen(offsets), frozen(row.astype(np.uint32)), frozen(contribution))

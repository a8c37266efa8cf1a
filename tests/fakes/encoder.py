"""An encoder without a model: each word has a fixed direction, a text's vector is the mean of its words'."""

import hashlib
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ranker_service.domain.encoding import QueryEncoding, TokenVectors, UnitEncoding

_WORD = re.compile(r"\w+|[^\w\s]")


class WordEncoder:
    """A ports.Encoder whose texts resemble one another as far as they share words."""

    revision = "fake.words.v1"
    dimension = 16
    window = 64
    special_token_count = 2

    def __init__(self) -> None:
        self.query_count = 0

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the span of each word and each punctuation mark."""
        return [match.span() for match in _WORD.finditer(text)]

    def encode_query(self, text: str) -> QueryEncoding:
        """Encode the words that the window holds."""
        self.query_count += 1
        spans = self.token_spans(text)
        vectors = self._directions(text)
        return QueryEncoding(_mean(vectors), vectors, len(spans), len(vectors))

    def encode_units(self, texts: Sequence[str], keep_token_vectors: bool) -> Iterator[tuple[int, UnitEncoding]]:
        """Encode each text, last one first."""
        for position in reversed(range(len(texts))):
            vectors = self._directions(texts[position])
            kept = _compressed(vectors) if keep_token_vectors else None
            yield position, UnitEncoding(_mean(vectors), kept)

    def _directions(self, text: str) -> NDArray[np.float32]:
        words = [text[start:end].casefold() for start, end in self.token_spans(text)]
        vectors = [self._direction(word) for word in words[: self.window - self.special_token_count]]
        return np.array(vectors, np.float32).reshape(-1, self.dimension)

    def _direction(self, word: str) -> NDArray[np.float64]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
        vector = np.random.default_rng(seed).standard_normal(self.dimension)
        return np.asarray(vector / np.linalg.norm(vector), np.float64)


def _mean(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    if not len(vectors):
        return np.asarray(np.eye(1, WordEncoder.dimension)[0], np.float32)
    mean = vectors.mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), np.float32)


def _compressed(vectors: NDArray[np.float32]) -> TokenVectors:
    scales = (np.abs(vectors).max(axis=1) / 127).astype(np.float16)
    values = np.clip(np.rint(vectors / scales[:, None].astype(np.float32)), -127, 127).astype(np.int8)
    return TokenVectors(values, scales)

"""Texts to token ids.

A tokenizer's truncation and padding are state of the object, and a call on one thread can change what a call on another
returns. So none is ever configured after it was made, and each is in the hands of one thread at a time.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from ranker_service.models.source import ModelFolder, ModelUnavailable

_TEXTS_AT_ONCE = 1_024
_UNBOUNDED_WINDOW = 1_000_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as a model reads it. Shapes: ids (tokens,) int32; special (tokens,) bool, true where the model's own."""

    ids: NDArray[np.int32]
    special: NDArray[np.bool_]

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Copy what a model needs out of a tokenizer's encoding."""
        return cls(np.array(encoding.ids, np.int32), np.array(encoding.special_tokens_mask, np.bool_))

    @property
    def content_count(self) -> int:
        """How many tokens are the text's own."""
        return int(np.count_nonzero(~self.special))

    def cut(self, window: int) -> "Tokens":
        """Return the special tokens and as many of the first others as fit into `window`."""
        excess = len(self.ids) - window
        if excess <= 0:
            return self
        dropped = np.flatnonzero(~self.special)[-excess:]
        return Tokens(np.delete(self.ids, dropped), np.delete(self.special, dropped))


class TokenizerPool:
    """Equal tokenizers for one purpose, lent to one thread at a time; a new one is made when all are out."""

    def __init__(self, definition: str) -> None:
        self._definition = definition
        self._idle: deque[Tokenizer] = deque()

    @contextmanager
    def lend(self) -> Iterator[Tokenizer]:
        """Hand out a tokenizer that neither truncates nor pads, and take it back."""
        try:
            tokenizer = self._idle.pop()
        except IndexError:
            tokenizer = self._new()
        try:
            yield tokenizer
        finally:
            self._idle.append(tokenizer)

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of one text, special tokens included."""
        with self.lend() as tokenizer:
            return Tokens.of(tokenizer.encode(text))

    def all_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of many texts, special tokens included."""
        found: list[Tokens] = []
        with self.lend() as tokenizer:
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                batch = tokenizer.encode_batch_fast(list(texts[start : start + _TEXTS_AT_ONCE]))
                found += [Tokens.of(encoding) for encoding in batch]
        return found

    def _new(self) -> Tokenizer:
        tokenizer = Tokenizer.from_str(self._definition)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def tokenizer_definition(folder: ModelFolder) -> str:
    """Return the folder's tokenizer as JSON text; raise ModelUnavailable when it is none."""
    path = folder.path / "tokenizer.json"
    try:
        definition = path.read_text("utf-8")
        Tokenizer.from_str(definition)
    except Exception as error:  # the library raises bare Exception
        raise ModelUnavailable(f"{path} is not a tokenizer: {error}") from error
    return definition


def window_of(folder: ModelFolder) -> int:
    """Return how many tokens the model takes at once, special tokens included: the least that its files name."""
    named = (
        folder.settings("sentence_bert_config.json").get("max_seq_length"),
        folder.settings("tokenizer_config.json").get("model_max_length"),
        folder.settings("config.json").get("max_position_embeddings"),
    )
    # A tokenizer without a limit names 10^30.
    windows = [int(value) for value in named if isinstance(value, int | float) and 0 < value < _UNBOUNDED_WINDOW]
    if not windows:
        raise ModelUnavailable(f"{folder.path / 'config.json'} does not say how many tokens the model takes")
    return min(windows)

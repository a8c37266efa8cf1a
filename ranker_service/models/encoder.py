"""The encoder: a transformer's token vectors, and their mean as the vector of a text.

One text gives one vector, bit for bit: nothing is padded, each forward pass runs on one thread, and what follows it
sees one text at a time.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModel

from ranker_service.domain.blank import is_blank
from ranker_service.domain.encoding import QueryEncoding, UnitEncoding
from ranker_service.models.batches import batch_limit, equal_length_batches, on_all_cores
from ranker_service.models.linear import pack
from ranker_service.models.pooling import mean_pool, quantised, unit_length, unit_rows
from ranker_service.models.source import ModelFolder, ModelUnavailable
from ranker_service.models.tokens import TokenizerPool, Tokens, tokenizer_definition, window_of
from ranker_service.models.transformer import DTYPES, load_transformer


class TransformerEncoder:
    """ports.Encoder over a transformer. Every method may be called from any thread."""

    def __init__(self, model: Any, folder: ModelFolder, dtype: str, *, packed: bool) -> None:
        definition = tokenizer_definition(folder)
        self._queries = TokenizerPool(definition)
        self._units = TokenizerPool(definition)
        self._spans = TokenizerPool(definition)
        self._model = model
        self._window = window_of(folder)
        self._dimension = int(model.config.hidden_size)
        self._dtype = dtype
        self._revision = f"{folder.name}/{dtype}/mean+l2"
        with self._spans.lend() as tokenizer:
            self._special_token_count = int(tokenizer.num_special_tokens_to_add(is_pair=False))
        # The plain kernels round differently with the number of rows now and then, which a probe can miss.
        self._batch_limit = batch_limit(self._states, self._window) if packed else 1

    @classmethod
    def load(cls, folder: ModelFolder, dtype: str) -> Self:
        """Load `folder` with "float32" or "bfloat16" arithmetic; raise ModelUnavailable when it is no such encoder."""
        _check_pooling(folder)
        model = load_transformer(AutoModel, folder, dtype)
        # A classifier's layer on top of the first token, which nobody reads here.
        if getattr(model, "pooler", None) is not None:
            model.pooler = None
        packed = pack(model, DTYPES[dtype])
        return cls(model, folder, dtype, packed=packed)

    @property
    def revision(self) -> str:
        """Source, revision, dtype and pooling."""
        return self._revision

    @property
    def dtype(self) -> str:
        """What the model computes in, "float32" or "bfloat16"."""
        return self._dtype

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    @property
    def window(self) -> int:
        """Tokens that the model takes at once, special tokens included."""
        return self._window

    @property
    def special_token_count(self) -> int:
        """Special tokens that are added to every text."""
        return self._special_token_count

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each token of `text`, without special tokens and without truncation."""
        with self._spans.lend() as tokenizer:
            spans: list[tuple[int, int]] = tokenizer.encode(text, add_special_tokens=False).offsets
            return spans

    def encode_query(self, text: str) -> QueryEncoding:
        """Encode on the calling thread; a text longer than the window is cut, and the encoding says so.

        Raise ValueError for a text without a token: its vector would resemble everything.
        """
        tokens = self._queries.tokens(text)
        _check_not_blank(text, tokens)
        seen = tokens.cut(self._window)
        states = self._states(seen.ids[None])[0]
        rows = unit_rows(states[~seen.special])
        return QueryEncoding(_vector(states), rows, tokens.content_count, seen.content_count)

    def encode_units(self, texts: Sequence[str], keep_token_vectors: bool) -> Iterator[tuple[int, UnitEncoding]]:
        """Encode on all cores; yield (position in `texts`, encoding) in any order.

        Raise ValueError for a text without a token and for one that the window does not hold, before encoding any.
        """
        tokens = self._units.all_tokens(texts)
        for position, text in enumerate(texts):
            _check_not_blank(text, tokens[position])
            count = len(tokens[position].ids)
            if count > self._window:
                raise ValueError(f"text {position} has {count} tokens, the window is {self._window}")
        return self._encoded(tokens, keep_token_vectors)

    def warm_up(self) -> None:
        """Encode queries of every usual length once, so that no caller waits for kernels and tokenizers to be made."""
        for length in range(1, 49):
            self.encode_query("a " * length)
        self.token_spans("a")

    def _encoded(self, tokens: Sequence[Tokens], keep_token_vectors: bool) -> Iterator[tuple[int, UnitEncoding]]:
        def encode(batch: list[int]) -> list[tuple[int, UnitEncoding]]:
            states = self._states(np.stack([tokens[position].ids for position in batch]))
            return [
                (position, _unit_encoding(own, tokens[position], keep_token_vectors))
                for position, own in zip(batch, states, strict=True)
            ]

        batches = equal_length_batches([len(own.ids) for own in tokens], self._batch_limit)
        for encodings in on_all_cores(encode, batches, background=True):
            yield from encodings

    def _states(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the last hidden states of texts of equal length: (texts, tokens) to (texts, tokens, dimension)."""
        with torch.inference_mode():
            output = self._model(input_ids=torch.from_numpy(ids.astype(np.int64)))
            states: NDArray[np.float32] = output.last_hidden_state.float().numpy()
        return states


def _vector(states: NDArray[np.float32]) -> NDArray[np.float32]:
    return unit_length(mean_pool(states, np.ones(len(states), np.bool_)))


def _unit_encoding(states: NDArray[np.float32], tokens: Tokens, keep_token_vectors: bool) -> UnitEncoding:
    kept = quantised(unit_rows(states[~tokens.special])) if keep_token_vectors else None
    return UnitEncoding(_vector(states), kept)


def _check_not_blank(text: str, tokens: Tokens) -> None:
    if is_blank(text) or tokens.content_count == 0:
        raise ValueError("a blank text has no vector of its own")


def _check_pooling(folder: ModelFolder) -> None:
    modes = folder.settings("1_Pooling/config.json")
    others = [name for name, value in modes.items() if value is True and name.startswith("pooling_mode_")]
    if others and others != ["pooling_mode_mean_tokens"]:
        raise ModelUnavailable(f"{folder.path} pools by {', '.join(others)}: only mean pooling is made here")

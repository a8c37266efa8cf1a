"""A cross-encoder: a transformer that reads a query and a unit as one text and says how relevant the unit is.

Nogueira and Cho, "Passage Re-ranking with BERT", 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from torch import nn
from transformers import AutoModelForSequenceClassification

from ranker_service.domain.encoding import QueryEncoding
from ranker_service.domain.ranking import ModelScore, RerankItem
from ranker_service.models import canary
from ranker_service.models.batches import batch_limit, equal_length_batches, on_all_cores
from ranker_service.models.linear import Float64Head, pack
from ranker_service.models.source import ModelFolder, ModelUnavailable
from ranker_service.models.tokens import TokenizerPool, tokenizer_definition, window_of
from ranker_service.models.transformer import DTYPES, load_transformer

QUERY_SHARE = (3, 4)
"""A query may take this share of the window; a longer one is cut, and every score says so."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a text as the model reads them. Shapes: ids, type_ids (tokens,) int64."""

    ids: NDArray[np.int64]
    type_ids: NDArray[np.int64]
    truncated: bool


class CrossEncoder:
    """ports.Reranker over a single-label sequence-classification checkpoint; its scores are logits."""

    needs_token_vectors = False

    def __init__(self, model: nn.Module, folder: ModelFolder, dtype: str, *, packed: bool) -> None:
        self._model = model
        self._tokenizers = TokenizerPool(tokenizer_definition(folder))
        self._window = window_of(folder)
        self._takes_type_ids = int(folder.settings("config.json").get("type_vocab_size", 0)) > 1
        probed = batch_limit(lambda ids: self._forward(ids, np.zeros_like(ids)), self._window) if packed else 1
        self._batch_limit = probed
        self.revision = f"cross-encoder.v1 {folder.name}/{dtype}/logit"

    @classmethod
    def load(cls, folder: ModelFolder, dtype: str) -> Self:
        """Load `folder` with "float32" or "bfloat16" arithmetic and a float64 head.

        Raise ModelUnavailable when it has no head or one of several labels, or cannot tell an answer from other texts.
        """
        model = load_transformer(AutoModelForSequenceClassification, folder, dtype)
        _make_head_exact(model, folder)
        packed = pack(model, DTYPES[dtype])
        encoder = cls(model, folder, dtype, packed=packed)
        hits = canary.hits(encoder.logits)
        if hits < canary.REQUIRED_HITS:
            raise ModelUnavailable(
                f"{folder.path} finds the answer to {hits} of {len(canary.PAIRS)} plain questions among six: "
                "it does not rank by relevance, choose a checkpoint that was trained to"
            )
        return encoder

    def score(self, query: str, encoding: QueryEncoding, items: Sequence[RerankItem]) -> list[ModelScore]:  # noqa: ARG002
        """Return the logit of each item's encoder input; it depends on nothing but the query and the item."""
        pairs = self._pairs(query, [item.unit.encoder_input for item in items])
        logits = self._logits(pairs)
        return [ModelScore(logit, pair.truncated) for logit, pair in zip(logits, pairs, strict=True)]

    def logits(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the logit of each text."""
        return self._logits(self._pairs(query, texts))

    def _pairs(self, query: str, texts: Sequence[str]) -> list[Pair]:
        with self._tokenizers.lend() as tokenizer:
            own = tokenizer.encode(query, add_special_tokens=False)
            others = tokenizer.encode_batch(list(texts), add_special_tokens=False)
            return paired(tokenizer, own, others, self._window)

    def _logits(self, pairs: Sequence[Pair]) -> list[float]:
        def forward(batch: list[int]) -> NDArray[np.float64]:
            own = [pairs[position] for position in batch]
            return self._forward(np.stack([pair.ids for pair in own]), np.stack([pair.type_ids for pair in own]))

        logits = [0.0] * len(pairs)
        batches = equal_length_batches([len(pair.ids) for pair in pairs], self._batch_limit)
        for batch, values in zip(batches, on_all_cores(forward, batches, background=False), strict=True):
            for position, value in zip(batch, values.tolist(), strict=True):
                logits[position] = value
        return logits

    def _forward(self, ids: NDArray[np.int64], type_ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logits of pairs of equal length: (pairs, tokens) to (pairs,)."""
        inputs = {"input_ids": torch.from_numpy(ids)}
        if self._takes_type_ids:
            inputs["token_type_ids"] = torch.from_numpy(type_ids)
        with torch.inference_mode():
            logits: NDArray[np.float64] = self._model(**inputs).logits[:, 0].numpy()
        return logits


def paired(tokenizer: Tokenizer, query: Encoding, texts: Sequence[Encoding], window: int) -> list[Pair]:
    """Join a query with each text into what `window` holds; the encodings, without special tokens, are used up.

    Only the text is cut (`only_second`), unless the query alone takes more than three quarters of the window: it is cut
    to that first.
    """
    query_room = window * QUERY_SHARE[0] // QUERY_SHARE[1]
    query_cut = len(query.ids) > query_room
    query.truncate(query_room)
    text_room = window - tokenizer.num_special_tokens_to_add(is_pair=True) - len(query.ids)
    return [_pair(tokenizer, query, text, text_room, query_cut) for text in texts]


def _pair(tokenizer: Tokenizer, query: Encoding, text: Encoding, text_room: int, query_cut: bool) -> Pair:
    text_cut = len(text.ids) > text_room
    text.truncate(text_room)
    joined = tokenizer.post_process(query, text)
    return Pair(np.array(joined.ids, np.int64), np.array(joined.type_ids, np.int64), query_cut or text_cut)


def _make_head_exact(model: Any, folder: ModelFolder) -> None:
    labels = int(model.config.num_labels)
    if labels != 1:
        raise ModelUnavailable(f"{folder.path} has a head of {labels} labels: a reranker has one")
    heads = [
        (module, name, child)
        for module in model.modules()
        for name, child in module.named_children()
        if isinstance(child, nn.Linear) and child.out_features == 1
    ]
    if len(heads) != 1:
        raise ModelUnavailable(f"{folder.path} has {len(heads)} layers that could be its head: a reranker has one")
    module, name, child = heads[0]
    setattr(module, name, Float64Head(child))

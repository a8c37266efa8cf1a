"""Small real checkpoints, saved as transformers saves them, so that no test needs a download."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertForSequenceClassification, BertModel

from ranker_service.models import canary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WINDOW = 96
_WIDTH = 64
_CODE = slice(0, 48)
_IS_QUERY, _IS_TEXT, _FOUND, _IS_FIRST, _SHARE = 48, 49, 50, 51, 52


def save_tokenizer(folder: Path, words: Iterable[str] = ()) -> int:
    """Save a tokenizer that knows `words` and the canary's, lower-cased; return how many tokens it knows."""
    known = {word for pair in canary.PAIRS for text in pair for word in re.findall(r"\w+|[^\w\s]", text.lower())}
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *sorted(known | set(words))])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a token of text
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": WINDOW}))
    return len(vocabulary)


def save_encoder(folder: Path) -> None:
    """Save an encoder with random weights."""
    torch.manual_seed(1)
    BertModel(_config(save_tokenizer(folder), layers=1)).save_pretrained(folder)


def save_untrained_cross_encoder(folder: Path, *, labels: int = 1) -> None:
    """Save a cross-encoder with random weights, which ranks nothing."""
    torch.manual_seed(1)
    BertForSequenceClassification(_config(save_tokenizer(folder), labels=labels)).save_pretrained(folder)


def save_overlap_cross_encoder(folder: Path, words: Iterable[str] = ()) -> None:
    """Save a cross-encoder whose logit grows with the share of the query's words that the text holds.

    Its weights are laid by hand: a word of the query looks for its like in the text and falls back on the first token,
    and the first token takes the mean of what the query's words found.
    """
    torch.manual_seed(1)
    model: Any = BertForSequenceClassification(_config(save_tokenizer(folder, words)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        _lay_embeddings(model.bert.embeddings)
        for layer in model.bert.encoder.layer:
            layer.attention.output.LayerNorm.weight.fill_(1.0)
            layer.output.LayerNorm.weight.fill_(1.0)
        _lay_search(model.bert.encoder.layer[0].attention)
        _lay_mean(model.bert.encoder.layer[1].attention)
        model.bert.pooler.dense.weight[0, _SHARE] = 0.5
        model.classifier.weight[0, 0] = 10.0
    model.save_pretrained(folder)


def _config(vocabulary: int, *, layers: int = 2, labels: int = 1) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=_WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=1,
        intermediate_size=2 * _WIDTH,
        max_position_embeddings=WINDOW,
        id2label={i: str(i) for i in range(labels)},
        initializer_range=0.2,
    )


def _lay_embeddings(embeddings: Any) -> None:
    """Give each word as many +1 as -1, so that every word has the same mean and length."""
    embeddings.LayerNorm.weight.fill_(1.0)
    words = embeddings.word_embeddings.weight
    width = _CODE.stop
    for row in words:
        row[_CODE] = torch.where(torch.randperm(width) < width // 2, 1.0, -1.0)
    words[SPECIAL.index("[CLS]"), _IS_FIRST] = 1.0
    embeddings.token_type_embeddings.weight[0, _IS_QUERY] = 1.0
    embeddings.token_type_embeddings.weight[1, _IS_TEXT] = 1.0


def _lay_search(attention: Any) -> None:
    """Equal words of the other side attract most, then the first token; words of the same side do not."""
    own_side, first = 100.0, 140.0
    queries, keys = attention.self.query, attention.self.key
    for i in range(_CODE.stop):
        queries.weight[i, i] = keys.weight[i, i] = 1.0
    for side in (_IS_QUERY, _IS_TEXT):
        queries.weight[side, side], keys.weight[side, side] = own_side, -1.0
    queries.bias[_IS_FIRST], keys.weight[_IS_FIRST, _IS_FIRST] = first, 1.0
    attention.self.value.weight[_FOUND, _IS_TEXT] = 1.0
    attention.output.dense.weight[_FOUND, _FOUND] = 1.0


def _lay_mean(attention: Any) -> None:
    """Every token takes the mean of what the query's tokens found."""
    attention.self.query.bias[_IS_QUERY] = 60.0
    attention.self.key.weight[_IS_QUERY, _IS_QUERY] = 1.0
    attention.self.value.weight[_SHARE, _FOUND] = 1.0
    attention.output.dense.weight[_SHARE, _SHARE] = 2.0

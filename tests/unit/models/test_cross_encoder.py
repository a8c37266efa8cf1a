"""The cross-encoder, over small real checkpoints."""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from torch import nn

from ranker_service.models import canary
from ranker_service.models.batches import MAX_BATCH
from ranker_service.models.cross_encoder import CrossEncoder, Pair, paired
from ranker_service.models.linear import Float64Head
from ranker_service.models.source import ModelUnavailable, resolve
from ranker_service.ports import Encoder, Reranker
from tests.checkpoints import WINDOW, save_encoder, save_overlap_cross_encoder, save_untrained_cross_encoder
from tests.fakes.encoder import WordEncoder
from tests.suites.reranker import RerankerSuite

FIRST, END = 2, 3
"""Ids of [CLS] and [SEP]."""


class TestCrossEncoder(RerankerSuite):
    """A real checkpoint keeps every reranker's promises, in both dtypes."""

    @pytest.fixture
    def reranker(self, cross_encoder: CrossEncoder) -> Reranker:
        return cross_encoder

    @pytest.fixture
    def encoder(self) -> Encoder:
        return WordEncoder()


@pytest.fixture(scope="session")
def tokenizer(overlap_checkpoint: Path) -> Tokenizer:
    return Tokenizer.from_file(str(overlap_checkpoint / "tokenizer.json"))


def joined(tokenizer: Tokenizer, query: int, text: int, window: int) -> Pair:
    """Join a query of as many "water" tokens with texts of as many "ice" tokens, and return the last of the pairs."""
    own = tokenizer.encode("water " * query, add_special_tokens=False)
    others = [tokenizer.encode("ice " * text, add_special_tokens=False) for _ in range(3)]
    first, *_, last = paired(tokenizer, own, others, window)
    assert first.ids.tolist() == last.ids.tolist()
    assert first.truncated == last.truncated
    return last


def counts(tokenizer: Tokenizer, pair: Pair) -> tuple[int, int]:
    """Return how many tokens of the query and of the text are left."""
    ids = pair.ids.tolist()
    return ids.count(tokenizer.token_to_id("water")), ids.count(tokenizer.token_to_id("ice"))


@pytest.mark.parametrize(
    ("query", "text", "left"),
    [
        (300, 600, (300, 209)),  # the query whole, only the text is cut
        (600, 20, (384, 20)),  # a query alone too long is cut to three quarters of the window
        (600, 600, (384, 125)),
        (260, 500, (260, 249)),
        (12, 500, (12, 497)),
        (12, 20, (12, 20)),
    ],
)
def test_the_text_is_cut_and_the_query_only_past_three_quarters(
    tokenizer: Tokenizer, query: int, text: int, left: tuple[int, int]
) -> None:
    pair = joined(tokenizer, query, text, 512)
    assert counts(tokenizer, pair) == left
    assert pair.truncated == (left != (query, text))


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(16, 128))
def test_no_pair_exceeds_the_window_and_every_cut_is_said(
    tokenizer: Tokenizer, query: int, text: int, window: int
) -> None:
    pair = joined(tokenizer, query, text, window)
    own, other = counts(tokenizer, pair)
    assert own == min(query, window * 3 // 4)
    assert other == min(text, window - 3 - own)
    assert pair.truncated == ((own, other) != (query, text))
    ids = pair.ids.tolist()
    assert (ids[0], ids[own + 1], ids[-1], len(ids)) == (FIRST, END, END, own + other + 3)
    assert pair.type_ids.tolist() == [0] * (own + 2) + [1] * (other + 1)


def test_a_batch_changes_no_bit(cross_encoder: CrossEncoder) -> None:
    assert cross_encoder._batch_limit == MAX_BATCH, "this CPU cannot batch: every pair goes alone"
    words = [word for pair in canary.PAIRS for text in pair for word in text.lower().split()]
    rng = random.Random(0)
    texts = [" ".join(rng.sample(words, count)) for count in range(1, 40) for _ in range(3)]
    together = cross_encoder.logits("how to reset a forgotten password", texts)
    alone = [cross_encoder.logits("how to reset a forgotten password", [text])[0] for text in texts]
    assert together == alone


def test_logits_keep_the_order_that_low_precision_and_a_sigmoid_lose() -> None:
    """In bfloat16 the sigmoid of each is 1; in float32 it saturates from 17."""
    states = torch.tensor([[6.5], [8.0], [10.0], [17.0], [18.0], [20.0], [20.001]], dtype=torch.float64)
    head = nn.Linear(1, 1).to(torch.bfloat16)
    with torch.no_grad():
        head.weight.fill_(1.0)
        head.bias.fill_(0.0)
    logits = Float64Head(head)(states)[:, 0]
    assert logits.dtype == torch.float64
    assert logits.tolist() == states[:, 0].tolist()
    assert len(set(torch.sigmoid(logits.to(torch.bfloat16)).tolist())) < len(logits)


def test_a_head_in_float64_separates_what_bfloat16_ties() -> None:
    torch.manual_seed(1)
    head = nn.Linear(64, 1).to(torch.bfloat16)
    states = torch.randn(500, 64).to(torch.bfloat16)
    exact, rounded = Float64Head(head)(states), head(states)
    assert len(set(exact[:, 0].tolist())) == len(states) > len(set(rounded[:, 0].tolist()))
    assert torch.allclose(exact, rounded.double(), atol=0.02)


def test_a_checkpoint_that_ranks_passes_the_canary_in_both_dtypes(cross_encoder: CrossEncoder) -> None:
    assert canary.hits(cross_encoder.logits) == len(canary.PAIRS)


def test_a_checkpoint_that_cannot_tell_an_answer_is_refused(tmp_path: Path) -> None:
    save_untrained_cross_encoder(tmp_path)
    with pytest.raises(ModelUnavailable, match="does not rank by relevance"):
        CrossEncoder.load(resolve(str(tmp_path)), "float32")


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_one_and_the_same_score_for_everything_never_passes_the_canary(value: float) -> None:
    assert canary.hits(lambda question, answers: [value] * len(answers)) == 0


def test_a_head_of_several_labels_is_refused(tmp_path: Path) -> None:
    save_untrained_cross_encoder(tmp_path, labels=3)
    with pytest.raises(ModelUnavailable, match="a head of 3 labels"):
        CrossEncoder.load(resolve(str(tmp_path)), "float32")


def test_a_checkpoint_without_a_head_is_refused(tmp_path: Path) -> None:
    save_encoder(tmp_path)
    with pytest.raises(ModelUnavailable, match="no weights for"):
        CrossEncoder.load(resolve(str(tmp_path)), "float32")


def test_the_revision_names_source_revision_and_dtype(tmp_path: Path, overlap_checkpoint: Path) -> None:
    folder = resolve(shutil.copytree(overlap_checkpoint, tmp_path / "overlap").as_posix())
    encoder = CrossEncoder.load(folder, "float32")
    assert encoder.revision == f"cross-encoder.v1 folder:overlap@{folder.revision}/float32/logit"


def test_the_checkpoint_ranks_by_the_share_of_words_found(tmp_path: Path) -> None:
    """What the tests above rely on: the hand-laid weights do what their docstring says."""
    words = [f"word{i}" for i in range(40)]
    save_overlap_cross_encoder(tmp_path, words)
    encoder = CrossEncoder.load(resolve(str(tmp_path)), "float32")
    query = words[:6]
    texts = [" ".join(query[:shared] + words[10 : 22 - shared]) for shared in range(7)]
    logits = encoder.logits(" ".join(query), texts)
    assert np.all(np.diff(logits) > 0)
    assert encoder._window == WINDOW

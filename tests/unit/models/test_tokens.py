"""Tokenizers: exclusive, never configured after they were made."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.source import ModelFolder
from ranker_service.models.tokens import TokenizerPool, Tokens, tokenizer_definition

WORDS_30 = " ".join(["deploy"] * 30)


@pytest.fixture(scope="module")
def definition(package: ModelFolder) -> str:
    return tokenizer_definition(package)


def test_the_truncation_and_padding_that_a_tokenizer_file_asks_for_are_off(definition: str) -> None:
    assert '"truncation":{' in definition
    assert '"padding":{' in definition
    pool = TokenizerPool(definition)
    assert len(pool.tokens("word").ids) == 3
    assert len(pool.tokens("word " * 1_000).ids) == 1_002
    assert [len(tokens.ids) for tokens in pool.all_tokens(["word", "word " * 1_000])] == [3, 1_002]


def test_no_two_threads_ever_hold_one_tokenizer(definition: str) -> None:
    pool = TokenizerPool(definition)
    held: set[int] = set()
    twice: list[int] = []
    lock = threading.Lock()

    def borrow() -> None:
        for _ in range(50):
            with pool.lend() as tokenizer:
                with lock:
                    twice.extend(held & {id(tokenizer)})
                    held.add(id(tokenizer))
                tokenizer.encode("a")
                with lock:
                    held.discard(id(tokenizer))

    with ThreadPoolExecutor(8) as executor:
        for future in [executor.submit(borrow) for _ in range(8)]:
            future.result()
    assert twice == []
    assert len(pool._idle) <= 8


def test_a_tokenizer_comes_back_after_an_error(definition: str) -> None:
    pool = TokenizerPool(definition)
    with pytest.raises(RuntimeError), pool.lend():
        raise RuntimeError
    assert len(pool._idle) == 1


def test_purposes_share_no_tokenizer(encoders: dict[str, TransformerEncoder]) -> None:
    encoder = encoders["float32"]
    encoder.encode_query("a")
    encoder.token_spans("a")
    list(encoder.encode_units(["a"], keep_token_vectors=False))
    pools = [encoder._queries._idle, encoder._units._idle, encoder._spans._idle]
    assert len({id(tokenizer) for pool in pools for tokenizer in pool}) == sum(len(pool) for pool in pools)


def test_eight_threads_of_mixed_purposes_count_tokens_as_one_does(encoders: dict[str, TransformerEncoder]) -> None:
    """Half of them cut a text to the window, half count another without truncation."""
    encoder = encoders["float32"]
    long = "word " * 400

    def cut() -> tuple[int, int]:
        tokens = encoder._queries.tokens(long)
        return len(tokens.cut(16).ids), len(tokens.ids)

    def count() -> tuple[int, int]:
        return len(encoder.token_spans(WORDS_30)), len(encoder._units.all_tokens([WORDS_30])[0].ids)

    def repeat(call: Callable[[], tuple[int, int]]) -> set[tuple[int, int]]:
        return {call() for _ in range(300)}

    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(repeat, [cut, count] * 4))
    assert found == [{(16, 402)}, {(30, 32)}] * 4


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=3, max_size=60), st.integers(3, 70))
def test_a_cut_keeps_the_special_tokens_and_the_first_others(own: list[bool], window: int) -> None:
    special = np.array([True, *own[1:-1], True])
    special[1:-1] = False
    tokens = Tokens(np.arange(len(own), dtype=np.int32), special)
    cut = tokens.cut(window)
    assert len(cut.ids) == min(len(own), window)
    assert cut.ids[special[cut.ids]].tolist() == [0, len(own) - 1]
    content = cut.ids[~cut.special].tolist()
    assert content == list(range(1, 1 + len(content)))
    assert cut.content_count == len(content)

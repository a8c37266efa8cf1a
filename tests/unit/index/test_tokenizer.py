"""Lexical tokens: what a query and a unit have to share to meet."""

import threading
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker_service.index.tokenizer import STOP_WORDS, lexical_tokens, query_tokens


def meet(query: str, text: str) -> bool:
    return bool(set(query_tokens(query)) & set(lexical_tokens(text)))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("東京", "東京タワーの高さ"),
        ("高さ", "東京タワーの高さ"),
        ("塔", "塔"),
        ("데이터", "데이터베이스"),
        ("café", "café naïve"),
        (unicodedata.normalize("NFD", "café"), "café naïve"),
        ("naïve", unicodedata.normalize("NFD", "café naïve")),
        ("\uff21\uff22\uff23", "abc"),
        ("abc", "\uff21\uff22\uff23"),
        ("STRASSE", "Straße"),
        ("ﬁle", "file"),
        ("हिन्दी", "यह हिन्दी भाषा है"),
        ("co\u00adoperate", "cooperate"),
        ("deploys", "deploying"),
        ("user", "getUserName"),
        ("getusername", "getUserName"),
        ("path join", "os.path.join(a, b)"),
        ("os.path.join", "call os.path.join here"),
        ("max_fragments", "the max_fragments field"),
        ("fragments", "the max_fragments field"),
        ("http server", "HTTPServer"),
        ("3.14", "version 3.14 is out"),
        ("the user's guide", "user guides"),
        ("sky", "blue.東京.sky"),
    ],
)
def test_a_query_meets_a_text_that_writes_the_same_thing_differently(query: str, text: str) -> None:
    assert meet(query, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", unicodedata.normalize("NFD", "café")),
        ("\uff21\uff22\uff23", "abc"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("don\u2019t", "don't"),
    ],
)
def test_forms_of_one_text_have_identical_tokens(one: str, other: str) -> None:
    assert lexical_tokens(one) == lexical_tokens(other)
    assert query_tokens(one) == query_tokens(other)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("snake_case", ["snake_cas", "snake", "case"]),
        ("os.path", ["os.path", "os", "path"]),
        ("HTTPServer2", ["httpserver2", "http", "server2"]),
        ("東京塔", ["東京", "京塔"]),
        ("a塔b", ["a", "塔", "b"]),
        ("__", []),
        ("a -- b", ["a", "b"]),
        (" \n\ufeff", []),
        ("IBM", ["ibm"]),
        ("running Runner", ["run", "runner"]),
    ],
)
def test_names_are_kept_whole_beside_their_parts_and_cjk_as_bigrams(text: str, tokens: list[str]) -> None:
    assert lexical_tokens(text) == tokens


def test_a_query_drops_stop_words_and_a_unit_keeps_them() -> None:
    assert query_tokens("what is the rollback of it") == ["rollback"]
    assert lexical_tokens("the rollback") == ["the", "rollback"]


@pytest.mark.parametrize("query", ["to be or not to be", "it's", "What is this?"])
def test_a_query_of_stop_words_alone_keeps_them_and_meets_a_text_that_has_them(query: str) -> None:
    assert query_tokens(query)
    assert meet(query, f"I asked: {query}")


def test_a_repeated_query_token_stands_as_often_as_it_was_written() -> None:
    assert query_tokens("rollback, Rollback and rollbacks") == ["rollback"] * 3


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_has_tokens_without_white_space_and_without_capitals(text: str) -> None:
    for token in lexical_tokens(text):
        assert token
        assert not any(character.isspace() for character in token)
        assert token == unicodedata.normalize("NFKC", token.casefold())


@settings(deadline=None)
@given(st.lists(st.text("abYZ_. é東", min_size=1, max_size=12), max_size=20))
def test_a_remembered_word_has_the_tokens_that_it_had_at_first(words: list[str]) -> None:
    text = " ".join(words)
    assert lexical_tokens(text) == lexical_tokens(text)
    telling = [token for word in words for token in lexical_tokens(word)]
    assert lexical_tokens(text) == telling


def test_stop_words_are_as_the_tokenizer_writes_words() -> None:
    assert all(word == word.casefold().replace("\u2019", "'") for word in STOP_WORDS)


def test_threads_get_the_tokens_of_a_single_thread() -> None:
    texts = [f"deploying getUserName{n} os.path.join_{n} running users' cafés 東京塔{n}" * 3 for n in range(50)]
    expected = [lexical_tokens(text) for text in texts]
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(n for _ in range(5) for n, text in enumerate(texts) if lexical_tokens(text) != expected[n])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []

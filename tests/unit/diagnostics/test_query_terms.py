"""The terms of a query, found again in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranktrail_diagnostics.query_terms import QueryTerms


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("how do we deploy", "Deployed units deploy. How?", ["Deployed", "deploy"]),
        ("the", "the end", ["the"]),
        ("cafe\u0301", "Un café", ["café"]),
        ("caf\u00e9", "Un cafe\u0301", ["cafe\u0301"]),
        ("ＡＢＣ", "abc", ["abc"]),
        ("maxRetries", "set max_retries here", ["max", "retries"]),
        ("retries", "maxRetries", ["Retries"]),
        ("東京", "東京タワー", ["東京"]),
        ("", "anything", []),
    ],
)
def test_words_of_the_same_stem_parts_of_names_and_neighbours_are_marked(
    query: str, text: str, marked: list[str]
) -> None:
    assert [piece for piece, is_term in QueryTerms(query).split(text) if is_term] == marked


@given(st.text(), st.text())
def test_the_pieces_are_the_text(query: str, text: str) -> None:
    assert "".join(piece for piece, _ in QueryTerms(query).split(text)) == text


@given(st.text(), st.text(max_size=300), st.integers(5, 60))
def test_a_snippet_is_no_longer_than_asked(query: str, text: str, limit: int) -> None:
    assert len("".join(piece for piece, _ in QueryTerms(query).snippet(text, limit))) <= limit + 2


def test_a_snippet_shows_a_term_that_stands_late() -> None:
    pieces = QueryTerms("needle").snippet("straw " * 100 + "needle " + "straw " * 100, 60)
    assert ("needle", True) in pieces

"""Sizes and how many bytes have come, where there is no terminal."""

import itertools

import pytest

from ranktrail_cli.byte_progress import shown_bytes
from ranktrail_cli.sizes import size_words


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (1_023, "1023 bytes"), (1_024, "1.0 KiB"), (3_565_158, "3.4 MiB"), (5 << 50, "5120.0 TiB")],
)
def test_a_size_is_in_the_largest_unit_of_which_there_is_one(size: int, words: str) -> None:
    assert size_words(size) == words


def test_every_byte_comes_through_and_a_line_is_said_every_few_seconds() -> None:
    said: list[str] = []
    seconds = itertools.count()
    pieces = [bytes(1_024)] * 9
    assert list(shown_bytes(pieces, "exported", said.append, lambda: float(next(seconds)))) == pieces
    assert said[0].startswith("exported ")
    assert 1 <= len(said) < len(pieces)

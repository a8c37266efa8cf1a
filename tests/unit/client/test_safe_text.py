"""Text from a memory on a terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranktrail_client.safe_text import safe_block, safe_line

STEERING = [
    "\x1b[2J",
    "\x9b31m",
    "\x1b]8;;http://x\x07",
    "\u202eabc",
    "\u2066",
    "\u200e",
    "\x08",
    "\r",
    "\x7f",
    "\ufeff",
]


@pytest.mark.parametrize("text", STEERING)
def test_what_steers_a_terminal_becomes_visible(text: str) -> None:
    for shown in (safe_line(f"a{text}b"), safe_block(f"a{text}b")):
        assert all(unicodedata.category(character) not in {"Cc", "Cf", "Cs"} for character in shown)
        assert shown.startswith("a")
        assert shown.endswith("b")


@given(st.text())
def test_a_line_is_one_line_and_a_block_keeps_its_lines(text: str) -> None:
    assert len(safe_line(text).splitlines()) <= 1
    assert safe_block(text).count("\n") == text.count("\n")


def test_ordinary_text_of_any_language_stays_as_it_is() -> None:
    for text in ("Größe 3 €", "東京タワー", "שלום", "👩‍🚀", "[bold]x[/bold]"):
        assert safe_line(text) == text


def test_a_surrogate_from_a_file_name_can_be_printed() -> None:
    assert safe_line("a\udcffb").encode("utf-8")

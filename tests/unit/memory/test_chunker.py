"""Units are exact, fit the encoder, and keep their keys."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ranker_service.domain.blank import is_blank
from ranker_service.domain.digest import digest_of
from ranker_service.domain.unit import Unit
from ranker_service.memory.chunker import Chunker, chunker_revision
from ranker_service.memory.parsers import parse
from ranker_service.ports import TokenCounter
from tests.unit.memory.counters import (
    ByteTokens,
    CharacterTokens,
    WordTokens,
    a_resource,
    real_tokens,
    settings,
)
from tests.unit.memory.texts import texts

media_types = st.sampled_from(["text/markdown", "text/plain", "text/x-python"])
small_counters = st.sampled_from([CharacterTokens(), WordTokens(), ByteTokens()])


def units_of(text: str, title: str = "", media_type: str = "text/markdown", unit_tokens: int = 256) -> tuple[Unit, ...]:
    """Return the units of a text by the real tokenizer."""
    body = text.encode()
    chunker = Chunker(settings(unit_tokens), real_tokens())
    return chunker.chunk(a_resource(body, title=title, media_type=media_type), body)


def assert_sound(units: tuple[Unit, ...], body: bytes, counter: TokenCounter, limit: int) -> None:
    """Check what holds for the units of any text by any tokenizer."""
    keys = [unit.unit_key for unit in units]
    assert len(set(keys)) == len(keys)
    for unit in units:
        assert body[unit.start_byte : unit.end_byte].decode("utf-8") == unit.text
        assert unit.digest == digest_of(unit.text.encode())
        assert len(unit.unit_key.encode()) <= 2048
        assert len(unit.text.encode()) <= 16 * 1024
        assert unit.token_count == len(counter.token_spans(unit.text)) > 0
        assert not is_blank(unit.text)
        assert len(counter.token_spans(unit.prefix)) <= limit // 4
        assert len(counter.token_spans(unit.encoder_input)) + counter.special_token_count <= limit


def assert_nothing_lost(units: tuple[Unit, ...], media_type: str, body: bytes, counter: TokenCounter) -> None:
    """Check that the encoder would see nothing in what no unit covers."""
    sections = parse(media_type, body).sections
    position = sections[0].start if sections else len(body)
    for unit in sorted(units, key=lambda unit: unit.start_byte):
        gap = body[position : unit.start_byte].decode("utf-8")
        assert is_blank(gap) or not counter.token_spans(gap)
        position = max(position, unit.end_byte)
    rest = body[position:].decode("utf-8")
    assert is_blank(rest) or not counter.token_spans(rest)


@given(text=texts, media_type=media_types, title=st.text(st.characters(codec="utf-8"), max_size=60))
@example(text="a" * 101 + "\n", media_type="text/plain", title="")
@example(text="unbelievably " * 400, media_type="text/plain", title="unbelievably " * 60)
@example(text="🙂" * 6000, media_type="text/markdown", title="🙂" * 250)
def test_no_unit_is_cut_by_the_real_encoder_and_nothing_is_lost(text: str, media_type: str, title: str) -> None:
    body = text.encode()
    units = units_of(text, title, media_type)
    assert_sound(units, body, real_tokens(), 256)
    assert_nothing_lost(units, media_type, body, real_tokens())


@given(
    text=texts,
    media_type=media_types,
    title=st.text(st.characters(codec="utf-8"), max_size=30),
    counter=small_counters,
    unit_tokens=st.integers(24, 300),
    overlap=st.integers(0, 200),
)
def test_the_same_holds_for_other_tokenizers_and_sizes(
    text: str, media_type: str, title: str, counter: TokenCounter, unit_tokens: int, overlap: int
) -> None:
    body = text.encode()
    resource = a_resource(body, title=title, media_type=media_type)
    units = Chunker(settings(unit_tokens, overlap), counter).chunk(resource, body)
    assert_sound(units, body, counter, unit_tokens)
    assert_nothing_lost(units, media_type, body, counter)


@given(body=st.binary(max_size=400), media_type=media_types)
def test_any_bytes_make_units_or_none(body: bytes, media_type: str) -> None:
    units = Chunker(settings(), real_tokens()).chunk(a_resource(body, media_type=media_type), body)
    assert_sound(units, body, real_tokens(), 256)


WORDS = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore " * 15
sentences = st.lists(st.sampled_from(["A sentence. ", "東京 ", "\n\n", "- item\n", "`code` "]), max_size=20).map(
    "".join
)


@hypothesis_settings(max_examples=40)
@given(before=sentences, after=sentences, edit=sentences)
def test_edits_in_other_sections_change_neither_keys_nor_digests(before: str, after: str, edit: str) -> None:
    def edited(first: str, last: str) -> dict[str, str]:
        text = f"# First\n{WORDS}{first}\n\n# Second\n{WORDS}\n## Below\n{WORDS}\n\n# Last\n{last}{WORDS}\n"
        return {u.unit_key: u.digest for u in units_of(text) if u.heading_path[0] == "Second"}

    assert edited(before, after) == edited(before + edit, edit + after) != {}


def test_a_resource_that_fits_is_one_unit_without_mark_and_front_matter() -> None:
    text = "\ufeff---\ntitle: T\n---\nintro\n\n# A\na\n# B\nb\n"
    [unit] = units_of(text)
    assert unit.unit_key == "r#/1/1"
    assert unit.text == "intro\n\n# A\na\n# B\nb\n"
    assert (unit.heading_path, unit.prefix) == ((), "T\n")


def test_a_whole_resource_has_the_headings_that_all_its_sections_share() -> None:
    [unit] = units_of("# A\na\n## B\nb\n## C\nc\n")
    assert (unit.heading_path, unit.prefix) == (("A",), "A\n")


def test_sections_that_fit_are_units_with_their_headings_as_context() -> None:
    units = units_of(f"# Guide\n\nintro\n\n## Ümlaut & Co!\n{WORDS[:500]}\n## 東京\n{WORDS[:500]}", title="Handbook")
    assert [(u.unit_key, u.prefix) for u in units] == [
        ("r#guide/1/1", "Handbook > Guide\n"),
        ("r#guide/ümlaut-co/1/1", "Handbook > Guide > Ümlaut & Co!\n"),
        ("r#guide/東京/1/1", "Handbook > Guide > 東京\n"),
    ]


def test_sections_of_one_name_are_numbered_and_so_are_the_pieces_of_a_section() -> None:
    units = units_of(f"# A\n{WORDS}\n# a!\n{WORDS}\n# B\nx\n# !!!\ny\n{WORDS[:300]}\n# ...\nz\n")
    keys = [unit.unit_key for unit in units]
    assert [key for key in keys if key.startswith("r#a/1/")] == [f"r#a/1/{n}" for n in range(1, 4)]
    assert [key for key in keys if key.startswith("r#a/2/")] == [f"r#a/2/{n}" for n in range(1, 4)]
    assert [key for key in keys if not key.startswith("r#a/")] == ["r#b/1/1", "r#-/1/1", "r#-/2/1"]


def test_keys_of_long_ids_and_headings_stay_short_and_apart() -> None:
    levels = "".join(f"{'#' * n} {'ﷺ' * 160}{n}\n{WORDS}\n" for n in range(1, 7))
    body = levels.encode()
    units = Chunker(settings(), real_tokens()).chunk(a_resource(body, resource_id="é" * 256), body)
    assert_sound(units, body, real_tokens(), 256)


def test_a_section_is_split_between_its_blocks() -> None:
    paragraph = (
        "A paragraph of some twenty words that tells one thing and then stops, as a paragraph in a manual does. "
    )
    text = "\n\n".join(paragraph * n for n in (3, 4, 2, 5, 1, 6, 3, 3)) + "\n"
    units = units_of(text)
    assert len(units) > 1
    assert "".join(unit.text for unit in units) == text
    assert all(unit.text.endswith(("\n\n", "\n")) for unit in units)


def test_windows_of_one_block_begin_and_end_at_words_and_overlap() -> None:
    units = units_of(WORDS * 2, media_type="text/plain")
    assert len(units) > 2
    for before, after in pairwise(units):
        shared = before.text[-(before.end_byte - after.start_byte) :]
        assert after.text.startswith(shared)
        assert 20 <= len(real_tokens().token_spans(shared)) <= 32
        assert before.text.endswith(" ")
        assert WORDS.count(after.text.split(" ", 1)[0])


def test_windows_of_code_end_at_lines() -> None:
    code = "```python\n" + "".join(f"value_{n} = compute(value_{n - 1}, {n})\n" for n in range(200)) + "```\n"
    units = units_of(code)
    assert len(units) > 5
    assert all(unit.text.endswith("\n") for unit in units)
    assert all(unit.text.startswith(("value_", "```")) for unit in units)


def test_a_text_of_one_endless_word_is_cut_by_bytes() -> None:
    units = units_of("é" * 50_000, media_type="text/plain")
    assert [len(unit.text) for unit in units][:2] == [8192, 8192]
    assert_sound(units, ("é" * 50_000).encode(), real_tokens(), 256)


def test_two_texts_that_differ_only_far_down_differ_in_what_the_encoder_sees() -> None:
    shared = "common words here " * 400
    first, second = (
        units_of(shared + "alpha", media_type="text/plain"),
        units_of(shared + "omega", media_type="text/plain"),
    )
    assert first[-1].encoder_input != second[-1].encoder_input
    assert "alpha" in first[-1].text


@pytest.mark.parametrize(
    "text", ["", " \n", "\ufeff", "\ufeff\u200b\n\u2060", "\0\x01", "---\ntitle: T\n---\n\u200b\n"]
)
@pytest.mark.parametrize("media_type", ["text/markdown", "text/plain"])
def test_a_blank_resource_has_no_unit(text: str, media_type: str) -> None:
    if media_type == "text/plain" and text.startswith("---"):
        return
    assert units_of(text, title="A title", media_type=media_type) == ()


def test_a_text_in_which_the_encoder_sees_no_token_is_no_unit() -> None:
    assert units_of("\u0301\u0301\u0301") == ()


def test_a_blank_section_among_others_has_no_unit() -> None:
    text = f"\u200b\n\n# A\n{WORDS}\n"
    assert all(unit.heading_path == ("A",) for unit in units_of(text))


def test_what_is_not_text_has_no_unit() -> None:
    chunker = Chunker(settings(), real_tokens())
    assert chunker.chunk(a_resource(b"\xff"), b"\xff") == ()
    assert chunker.chunk(a_resource(b"x", media_type="image/png"), b"x") == ()


def test_the_context_keeps_the_title_and_the_last_heading_and_is_cut_where_they_are_too_long() -> None:
    heads = "".join(f"{'#' * n} {'middle ' * 20}{n}\n" for n in range(1, 6)) + f"###### Last\n{WORDS}"
    last = [unit for unit in units_of(heads, title="Handbook") if unit.heading_path[-1] == "Last"]
    assert last[0].prefix.startswith("Handbook > ")
    assert last[0].prefix.endswith(" > Last\n")
    [unit] = units_of("x", title="word " * 200)
    assert unit.prefix == " ".join(["word"] * 64) + "\n"


def test_a_title_with_line_breaks_is_one_line_of_context() -> None:
    [unit] = units_of("x", title="A\n\tB")
    assert unit.prefix == "A B\n"


def test_the_smaller_of_profile_and_window_counts() -> None:
    assert chunker_revision(settings(10_000), 256) == chunker_revision(settings(256), 512)
    assert chunker_revision(settings(256, 16), 256) != chunker_revision(settings(256, 32), 256)
    body = (WORDS * 3).encode()
    units = Chunker(settings(100_000), real_tokens()).chunk(a_resource(body), body)
    assert_sound(units, body, real_tokens(), 256)


@pytest.mark.slow
def test_a_body_of_many_megabytes_is_read_in_segments() -> None:
    body = (WORDS.encode() + b"\n\n") * 2_000
    units = Chunker(settings(), real_tokens()).chunk(a_resource(body, media_type="text/plain"), body)
    assert_sound(units, body, real_tokens(), 256)
    assert_nothing_lost(units, "text/plain", body, real_tokens())

"""Sections and blocks are exact byte spans, whatever the text is made of."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.blank import is_blank
from ranker_service.domain.resource import ParseState
from ranker_service.memory.parsers import NotParsable, Section, guess_media_type, inspect, parse
from tests.unit.memory.texts import ODD_LINE_BREAKS, texts

MEDIA_TYPES = ["text/markdown", "text/plain", "text/x-python"]
media_types = st.sampled_from(MEDIA_TYPES)


def sections_of(text: str, media_type: str = "text/markdown") -> list[tuple[tuple[str, ...], str]]:
    """Return the heading path and the text of each section."""
    body = text.encode()
    return [(s.heading_path, body[s.start : s.end].decode()) for s in parse(media_type, body).sections]


def blocks_of(text: str, media_type: str) -> list[str]:
    """Return the texts of all blocks."""
    body = text.encode()
    return [body[start:end].decode() for s in parse(media_type, body).sections for start, end in s.blocks]


def assert_without_gaps(sections: tuple[Section, ...], end: int) -> None:
    """Sections follow each other to the body's end, and blocks fill each section."""
    for before, after in pairwise(sections):
        assert before.end == after.start
    for section in sections:
        assert section.start < section.end
        assert [section.start, *(stop for _, stop in section.blocks)] == [*(s for s, _ in section.blocks), section.end]
    if sections:
        assert sections[-1].end == end


@given(text=texts, media_type=media_types)
def test_sections_and_blocks_leave_no_gap_and_only_blank_text_and_front_matter_before_them(
    text: str, media_type: str
) -> None:
    body = text.encode()
    parsed = parse(media_type, body)
    assert parsed.text == text
    assert_without_gaps(parsed.sections, len(body))
    for section in parsed.sections:
        for start, end in section.blocks:
            body[start:end].decode()
    first = parsed.sections[0].start if parsed.sections else len(body)
    if not text.removeprefix("\ufeff").startswith("---"):
        assert is_blank(body[:first].decode())


@given(body=st.binary(max_size=300), media_type=st.sampled_from([*MEDIA_TYPES, "image/png", "application/json"]))
def test_any_bytes_are_parsed_or_refused_as_inspect_says(body: bytes, media_type: str) -> None:
    state = inspect(media_type, body)
    if state in (ParseState.PARSED, ParseState.BLANK):
        assert bool(parse(media_type, body).sections) == (state is ParseState.PARSED)
    else:
        with pytest.raises(NotParsable):
            parse(media_type, body)


@given(text=texts)
def test_inspect_and_parse_agree_on_what_is_blank(text: str) -> None:
    for media_type in MEDIA_TYPES:
        state = inspect(media_type, text.encode())
        assert bool(parse(media_type, text.encode()).sections) == (state is ParseState.PARSED)


def test_a_section_runs_from_its_heading_to_the_next_of_any_level() -> None:
    assert sections_of("intro\n\n# A\na\n### C\nc\n## B\nb\n# D\n") == [
        ((), "intro\n\n"),
        (("A",), "# A\na\n"),
        (("A", "C"), "### C\nc\n"),
        (("A", "B"), "## B\nb\n"),
        (("D",), "# D\n"),
    ]


def test_setext_headings_count_and_their_lines_are_one_heading() -> None:
    assert sections_of("A\nB\n===\nx\n\nC\n---\ny") == [(("A B",), "A\nB\n===\nx\n\n"), (("A B", "C"), "C\n---\ny")]


@pytest.mark.parametrize(
    "text", ["> # A\n> b\n", "- # A\n  b\n", "```\n# A\n```\n", "    # A\n", "<!--\n# A\n-->\n", "\\# A"]
)
def test_a_heading_inside_something_else_begins_no_section(text: str) -> None:
    assert sections_of(text) == [((), text)]


def test_an_empty_heading_begins_a_section_under_the_headings_above_it() -> None:
    assert sections_of("# A\n##\nx\n# \ny\n") == [(("A",), "# A\n"), (("A",), "##\nx\n"), ((), "# \ny\n")]


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("# *A* __b__ `c_d` ~~e~~", "A b c_d e"),
        ("# [Link](http://x/y) and ![alt](z.png)", "Link and alt"),
        ("# [Ref][1] <a name='x'></a>end", "Ref end"),
        ("# A {#custom-id}", "A"),
        ("# snake_case_name and 2 * 3", "snake_case_name and 2 3"),
        (r"# \*not\* emphasis", "*not* emphasis"),
        ("# a &amp; b &#x41;", "a & b A"),
        ("# Closed ###", "Closed"),
        ("# \t Wide \t space ", "Wide space"),
    ],
)
def test_a_heading_is_context_without_its_markup(markdown: str, text: str) -> None:
    assert sections_of(markdown + "\n")[0][0] == (text,)


def test_a_long_heading_is_cut_at_a_character_in_the_path_and_whole_in_the_text() -> None:
    [(path, text)] = sections_of("# " + "é🙂" * 1000)
    assert path == ("é🙂" * 85 + "é",)
    assert len(path[0].encode()) == 512
    assert text == "# " + "é🙂" * 1000


@pytest.mark.parametrize("odd", ODD_LINE_BREAKS)
def test_characters_that_some_take_for_line_ends_shift_nothing(odd: str) -> None:
    text = f"one{odd}# no heading{odd}\n\n# A{odd}b\n{odd}\ntext{odd}\n# B\n"
    assert [part for _, part in sections_of(text)] == [
        f"one{odd}# no heading{odd}\n\n",
        f"# A{odd}b\n{odd}\ntext{odd}\n",
        "# B\n",
    ]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_each_line_end_ends_a_line_and_no_byte_is_lost(end: str) -> None:
    text = f"🙂{end}{end}# A{end}naïve{end}{end}# B{end}"
    assert sections_of(text) == [
        ((), f"🙂{end}{end}"),
        (("A",), f"# A{end}naïve{end}{end}"),
        (("B",), f"# B{end}"),
    ]


def test_mixed_line_ends_are_each_counted_once() -> None:
    assert [text for _, text in sections_of("a\r\n\r# A\n\r\n# B\r\r\n# C")] == [
        "a\r\n\r",
        "# A\n\r\n",
        "# B\r\r\n",
        "# C",
    ]


def test_a_byte_order_mark_and_front_matter_are_skipped_and_may_give_the_title() -> None:
    text = "\ufeff---\ntitle: 2024-13-45\ntags: [a]\n---\n# A\n"
    parsed = parse("text/markdown", text.encode())
    assert parsed.title == "2024-13-45"
    assert sections_of(text) == [(("A",), "# A\n")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_front_matter_ends_at_its_own_line_whatever_ends_lines(end: str) -> None:
    body = f"---{end}title: T{end}...{end}x".encode()
    parsed = parse("text/markdown", body)
    assert (parsed.title, body[parsed.sections[0].start :]) == ("T", b"x")


def test_broken_front_matter_is_skipped_and_its_title_still_read() -> None:
    text = "---\ntitle: Deploy: how\n  bad: [\n---\nx"
    assert sections_of(text) == [((), "x")]
    assert parse("text/markdown", text.encode()).title == "Deploy: how"


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nSome prose.\n\n---\nmore\n",
        "---\nno end\n",
        "---\n- a\n- b\n---\nx",
        "a\n---\nb: c\n---\n",
        " ---\na: b\n---\n",
    ],
)
def test_text_between_thematic_breaks_is_not_taken_for_front_matter(text: str) -> None:
    assert "".join(part for _, part in sections_of(text)) == text


def test_hostile_front_matter_ends_soon() -> None:
    for source in (
        "[" * 9_000,
        "a: " * 5_000,
        "&a [*a]\n",
        "? " * 8_000,
        "!!python/object:os.system x\n",
        "a: &a [*a,*a]\n",
    ):
        parse("text/markdown", f"---\n{source}\n---\nx".encode())


def test_without_front_matter_the_first_heading_is_the_title() -> None:
    assert parse("text/markdown", b"x\n# A\n## B\n").title == "A"
    assert parse("text/plain", b"# A\n").title == ""


@pytest.mark.parametrize(
    ("media_type", "body", "state"),
    [
        ("text/markdown", b"", ParseState.BLANK),
        ("text/markdown", "\ufeff \n\u200b\u2060\u3000".encode(), ParseState.BLANK),
        ("text/markdown", b"\xef\xbb\xbf---\ntitle: T\n---\n\n", ParseState.BLANK),
        ("text/plain", b"---\ntitle: T\n---\n", ParseState.PARSED),
        ("text/plain", b"\x00\x01", ParseState.BLANK),
        ("text/plain", b"\xff\xfea\x00", ParseState.NOT_UTF8),
        ("text/markdown", b"\xed\xa0\x80", ParseState.NOT_UTF8),
        ("TEXT/Markdown; charset=utf-8", b"a", ParseState.PARSED),
        ("application/ld+json", b"{}", ParseState.PARSED),
        ("image/png", b"text", ParseState.NO_PARSER),
        ("application/octet-stream", b"\xff", ParseState.NO_PARSER),
    ],
)
def test_inspect_says_what_can_be_ranked(media_type: str, body: bytes, state: ParseState) -> None:
    assert inspect(media_type, body) is state


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("a/b.MD", "text/markdown"),
        ("notes.txt", "text/plain"),
        ("a.tar.py", "text/x-python"),
        ("README", "text/plain"),
        (".gitignore", "text/plain"),
        ("a.d/Makefile", "text/plain"),
        ("x.proto", "text/x-protobuf"),
        ("x.json", "application/json"),
        ("x.html", "text/html"),
        ("x.png", "application/octet-stream"),
        ("x.unheard", "application/octet-stream"),
    ],
)
def test_the_suffix_decides_the_media_type(path: str, media_type: str) -> None:
    assert guess_media_type(path) == media_type


LONG = "a line that is long enough to stand alone"


def test_paragraphs_are_the_blocks_of_plain_text() -> None:
    text = f"{LONG}\n{LONG}\n\n \t\n{LONG}\r\n\r\n{LONG}\r\r{LONG}\n\n"
    assert blocks_of(text, "text/plain") == [
        f"{LONG}\n{LONG}\n\n \t\n",
        f"{LONG}\r\n\r\n",
        f"{LONG}\r\r",
        f"{LONG}\n\n",
    ]


def test_a_definition_keeps_its_empty_lines_and_its_closing_bracket() -> None:
    first = f"def a():\n    {LONG}\n\n    {LONG}\n\n)\n\n"
    second = f"def b():\n    {LONG}\n"
    assert blocks_of(first + second, "text/x-python") == [first, second]


def test_list_items_are_blocks_and_a_heading_stays_with_what_follows_it() -> None:
    text = f"# {LONG}\n\n{LONG}\n\n- {LONG}\n\n  {LONG}\n- {LONG}\n\n> {LONG}\n"
    assert blocks_of(text, "text/markdown") == [
        f"# {LONG}\n\n{LONG}\n\n",
        f"- {LONG}\n\n  {LONG}\n",
        f"- {LONG}\n\n",
        f"> {LONG}\n",
    ]

"""The time that a text takes grows with its size and with nothing else."""

import time
from collections.abc import Callable

import pytest

from ranker_service.domain.limits import MARKDOWN_LINES, SECTIONS_PER_RESOURCE
from ranker_service.memory import parsers
from ranker_service.memory.chunker import Chunker
from ranker_service.memory.parsers import inspect, parse
from tests.unit.memory.counters import a_resource, real_tokens, settings
from tests.unit.memory.test_chunker import assert_sound

HOSTILE: dict[str, Callable[[int], str]] = {
    "quotes in quotes on a line": lambda n: ">" * n + "a",
    "quotes in quotes on many lines": lambda n: ("> " * 200 + "a\n") * (n // 402),
    "lists in lists": lambda n: "".join(" " * (2 * i) + "- a\n" for i in range(int(n**0.5))),
    "lists in lists on a line": lambda n: "* " * (n // 2) + "a",
    "lists and quotes by turns": lambda n: "> - a\nb\n" * (n // 8),
    "definitions": lambda n: "[a]: b\n" * (n // 7),
    "definitions whose titles do not end": lambda n: '[a]: b\n"\n' * (n // 9),
    "a label that does not end": lambda n: "[a\n" + "b\n" * (n // 2),
    "brackets": lambda n: "[" * n,
    "a tag that does not end": lambda n: "<a" + " a" * (n // 2),
    "a tag of spaces": lambda n: "<a" + " " * n,
    "comments that do not end": lambda n: "<!--\n\n" * (n // 6),
    "fences": lambda n: "~~~\n```\n" * (n // 8),
    "headings": lambda n: "# a\n" * (n // 4),
    "headings under headings": lambda n: "a\n=\nb\n-\n" * (n // 8),
    "a heading of markup": lambda n: "# " + "*_`[a](" * (n // 7),
    "a paragraph that becomes a heading": lambda n: "a\n" * (n // 2) + "=",
    "an endless line": lambda n: "a" * n,
    "an endless line of spaces": lambda n: " " * n + "a",
    "a table of many columns": lambda n: "|a" * (n // 4) + "\n" + "|-" * (n // 4),
    "front matter that does not end": lambda n: "---\n" + "a: b\n" * (n // 5),
    "carriage returns": lambda n: "a\r\r" * (n // 3),
    "empty lines": lambda n: "a\n\n" * (n // 3),
}


def seconds(media_type: str, body: bytes) -> float:
    """Return the time of the faster of two parses."""
    times = []
    for _ in range(2):
        start = time.process_time()
        inspect(media_type, body)
        parse(media_type, body)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("media_type", ["text/markdown", "text/plain", "text/x-python"])
def test_four_times_the_text_takes_about_four_times_as_long(name: str, media_type: str) -> None:
    small, large = (seconds(media_type, HOSTILE[name](n).encode()) for n in (10_000, 40_000))
    assert large < 8 * small + 0.1


def test_ten_thousand_nested_lists_and_quotes_are_units(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (">" * 10_000 + "a\n\n# A\n", "* " * 10_000 + "a", "> - " * 10_000 + "a"):
        body = text.encode()
        assert_sound(Chunker(settings(), real_tokens()).chunk(a_resource(body), body), body, real_tokens(), 256)


def test_lists_twenty_deep_still_end_before_the_next_heading() -> None:
    nested = "".join("  " * depth + "- item\n" for depth in range(19))
    assert [s.heading_path for s in parse("text/markdown", f"{nested}\n# After\n".encode()).sections] == [
        (),
        ("After",),
    ]


def test_headings_past_the_limit_begin_no_section_and_lose_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ranker_service.memory.markdown.SECTIONS_PER_RESOURCE", 3)
    body = b"".join(b"# Heading number %d with some words\n" % n for n in range(10))
    sections = parse("text/markdown", body).sections
    assert [s.heading_path[0][:16] for s in sections] == ["Heading number 0", "Heading number 1", "Heading number 2"]
    assert sections[-1].end == len(body)
    assert len(sections[-1].blocks) == 7
    assert SECTIONS_PER_RESOURCE == 65_536


def test_markdown_of_too_many_lines_is_read_as_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "MARKDOWN_LINES", 3)
    assert len(parse("text/markdown", b"# A\n# B\n# C\n").sections) == 3
    [section] = parse("text/markdown", b"# A\n# B\n# C\n# D\n").sections
    assert section.heading_path == ()
    assert MARKDOWN_LINES == 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "section_count"),
    [
        ("# a\n" * 1_000_000, SECTIONS_PER_RESOURCE),
        (("lorem ipsum " * 20 + "\n\n") * (32 * 1024 * 1024 // 242), 1),
        ("a\n\n" * 10_000_000, 1),
    ],
    ids=["a million headings", "32 MiB of paragraphs", "30 MB of tiny paragraphs"],
)
def test_the_largest_bodies_are_parsed(text: str, section_count: int) -> None:
    body = text.encode()
    sections = parse("text/markdown", body).sections
    assert (len(sections), sections[0].start, sections[-1].end) == (section_count, 0, len(body))


@pytest.mark.slow
def test_a_line_of_five_megabytes_becomes_units() -> None:
    body = b"a" * 5_000_000
    units = Chunker(settings(), real_tokens()).chunk(a_resource(body), body)
    assert sum(unit.end_byte - unit.start_byte for unit in units) == len(body)
    assert max(unit.end_byte - unit.start_byte for unit in units) == 16 * 1024

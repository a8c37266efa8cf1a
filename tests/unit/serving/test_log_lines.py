"""A record is one line, whatever its values hold, and a traceback tells no text that somebody sent."""

import logging

import pytest

from ranktrail_serving.log_lines import LineFormatter


def logged(message: str, *values: object, error: BaseException | None = None) -> str:
    found = None if error is None else (type(error), error, error.__traceback__)
    return LineFormatter().format(logging.LogRecord("test", logging.ERROR, __file__, 0, message, values, found))


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1b[2J", "\x85", "\u2028", "\u2029", "\u202e", "\x00"]
)
def test_a_value_cannot_begin_another_line_or_steer_a_terminal(character: str) -> None:
    text = logged("%s", f"a{character}2026-01-01 00:00:00,000 ERROR root: forged")
    assert len(text.splitlines()) == 1
    assert character not in text


@pytest.mark.parametrize("kind", [ValueError, KeyError, IndexError, TypeError, AssertionError, UnicodeError])
def test_an_error_that_quotes_what_it_was_given_is_named_and_not_quoted(kind: type[Exception]) -> None:
    error = RuntimeError("stage failed")
    error.__cause__ = kind("the secret query")
    text = logged("failed", error=error)
    assert "secret" not in text
    assert kind.__name__ in text
    assert "RuntimeError: stage failed" in text


def test_every_line_of_a_traceback_is_set_apart() -> None:
    text = logged("failed", error=OSError(f"disk\n2026-01-01 00:00:00,000 ERROR root: {'forged'}"))
    assert [line[:4] for line in text.splitlines()[1:]] == ["  | "] * (len(text.splitlines()) - 1)
    assert "OSError: disk" in text


def test_an_error_that_causes_itself_is_told_once() -> None:
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert logged("failed", error=one).count("RuntimeError: one") == 1

"""How an exported set is written down."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.domain.digest import canonical_json
from history_service.domain.errors import FixtureInvalid
from history_service.exchange.canonical import FRAME_BYTES, framed, quick_json, time_text, time_us
from history_service.exchange.schema import FIXTURE_SCHEMA
from history_service.exchange.shape import shape_check

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(codec="utf-8"))
ROOT = Path(__file__).parents[3]


@given(st.dictionaries(TEXT, st.lists(TEXT | st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1))))
def test_the_quick_encoder_writes_text_and_integers_as_the_canonical_one(value: dict[str, Any]) -> None:
    assert quick_json(value) == canonical_json(value)


@given(st.lists(FLOATS | st.floats(1e-4, 1e16) | st.none()))
def test_the_quick_encoder_writes_floats_as_the_canonical_one(numbers: list[float | None]) -> None:
    assert quick_json({"numbers": numbers}, numbers) == canonical_json({"numbers": numbers})
    for number in numbers:
        assert quick_json(number, [number]) == canonical_json(number)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_never_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        quick_json([number], [number])


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_time_is_read_back_to_the_microsecond(moment: datetime) -> None:
    text = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert time_text(time_us(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-30",
        "2026-11-30T18:46:56Z",
        "2026-11-30T18:46:56.123456+00:00",
        "2026-11-30T18:46:56.123456Z\n",
        "2026-13-30T18:46:56.123456Z",
        "2026-02-30T18:46:56.123456Z",
        "0000-01-01T00:00:00.000000Z",
        "٢026-11-30T18:46:56.123456Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the sentence depends on what is wrong
        time_us(text)


@given(st.lists(st.binary(max_size=50) | st.just(b"x" * (FRAME_BYTES - 1)) | st.just(b"y" * 3_000_000), max_size=4))
def test_frames_are_full_but_for_the_last_and_lose_nothing(pieces: list[bytes]) -> None:
    frames = list(framed(pieces))
    assert b"".join(frames) == b"".join(pieces)
    assert all(len(frame) == FRAME_BYTES for frame in frames[:-1])
    assert all(0 < len(frame) <= FRAME_BYTES for frame in frames)


def test_the_schema_in_the_docs_is_the_one_that_an_import_checks() -> None:
    text = json.dumps(FIXTURE_SCHEMA, indent=2, ensure_ascii=False) + "\n"
    assert (ROOT / "docs" / "fixture.schema.json").read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 3}, [1, 3], [0, 4, 1.0, True, "1", None, [], {}]),
        ({"type": ["number", "null"]}, [0, 0.5, -1e300, None], [math.nan, math.inf, False, "0"]),
        ({"type": "string", "minLength": 1, "x-max-bytes": 3}, ["a", "票"], ["", "aaaa", "票a", "\ud83d", 1, None]),
        ({"type": "string", "pattern": "^[0-9]{2}$"}, ["12"], ["1", "123", "12\n", "٣٤"]),
        ({"type": "string", "maxLength": 2}, ["😀😀"], ["abc"]),
        ({"enum": [None, "a"]}, [None, "a"], ["b", 0, False, [], {}]),
        ({"const": 1}, [1], [True, 1.0, "1", 2, None]),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 1}, [[], [True]], [[1], [True, True], {}, None]),
        ({"type": "object", "additionalProperties": {"type": "null"}}, [{}, {"a": None}], [{"a": 1}, {"\ud83d": None}]),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}},
            [{"a": None}],
            [{}, {"b": None}, {"a": None, "b": 1}],
        ),
    ],
)
def test_a_value_passes_exactly_when_its_schema_says_so(
    schema: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    check = shape_check(schema)
    for value in good:
        check(value, "field")
    for value in bad:
        with pytest.raises(FixtureInvalid) as caught:
            check(value, "field")
        assert caught.value.field.startswith("field")

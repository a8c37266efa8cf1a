"""A large JSON document, read value by value."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_service.domain.errors import FixtureInvalid
from history_service.exchange import json_reader
from history_service.exchange.json_reader import JsonReader

LIMIT = 1_000_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture(params=[1, 2, 7, 262_144], autouse=True, scope="module")
def _read_bytes(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "_READ_BYTES", request.param)
        yield


@given(st.lists(VALUES, max_size=8), st.booleans(), st.sampled_from([None, 2]))
def test_elements_are_what_json_loads_makes_of_them(values: list[Any], ascii_only: bool, indent: int | None) -> None:
    document = json.dumps(values, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    reader = JsonReader(io.BytesIO(document + b"\n"))
    assert list(reader.elements(LIMIT)) == json.loads(document)
    reader.expect_end()


@given(st.lists(st.text() | st.integers(), max_size=6), st.data())
def test_a_position_is_where_a_second_reader_goes_on(values: list[Any], data: st.DataObject) -> None:
    document = json.dumps([values, values], ensure_ascii=False).encode("utf-8", "surrogatepass")
    reader = JsonReader(io.BytesIO(document))
    reader.expect("[")
    reader.value(LIMIT)
    reader.expect(",")
    again = JsonReader(io.BytesIO(document), reader.position)
    assert list(again.elements(LIMIT)) == values
    again.expect("]")


@given(VALUES, st.data())
def test_a_document_cut_off_anywhere_is_refused(value: Any, data: st.DataObject) -> None:
    document = json.dumps([value], ensure_ascii=False).encode("utf-8", "surrogatepass")
    size = data.draw(st.integers(0, len(document) - 1))
    with pytest.raises(FixtureInvalid):
        list(JsonReader(io.BytesIO(document[:size])).elements(LIMIT))


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('[1, "a" "b"]', "lacks ','"),
        ("[1,]", "not JSON"),
        ("[NaN]", "NaN"),
        ("[-Infinity]", "Infinity"),
        ('[{"a":1,"a":2}]', "'a' twice"),
        ("[" * 5_000, "nested too deeply"),
        ('["\\x"]', "not JSON"),
        ('["\n"]', "not JSON"),
        ("[1" + "0" * 5_000 + "]", "digits"),
    ],
)
def test_what_is_no_json_is_refused_and_says_why(document: str, problem: str) -> None:
    with pytest.raises(FixtureInvalid, match=problem):
        list(JsonReader(io.BytesIO(document.encode())).elements(LIMIT))


def test_a_wrong_value_is_named_by_its_place() -> None:
    reader = JsonReader(io.BytesIO(b'[1, 2, {"a": ]'))
    reader.where = "cases"
    with pytest.raises(FixtureInvalid) as caught:
        list(reader.elements(LIMIT))
    assert caught.value.field == "cases[2]"


def test_a_value_beyond_its_limit_is_refused_before_all_of_it_is_read() -> None:
    file = io.BytesIO(b'["' + b"x" * 3_000_000 + b'"]')
    with pytest.raises(FixtureInvalid, match="more than 1000 characters"):
        list(JsonReader(file).elements(1_000))
    assert file.tell() < 1_000_000

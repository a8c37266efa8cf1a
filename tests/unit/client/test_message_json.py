"""Messages as JSON, over every message of every contract."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranktrail.errors.v1 import error_reason_pb2
from ranktrail.evaluation.v1 import evaluation_service_pb2
from ranktrail.history.v1 import history_service_pb2
from ranktrail.ranker.v1 import ranker_service_pb2
from ranktrail.trace.v1 import trace_pb2
from ranktrail_client.message_json import dumps, enum_number, enum_word, enum_words, message_json

CONTRACTS = (trace_pb2, ranker_service_pb2, history_service_pb2, evaluation_service_pb2)
MESSAGES = [getattr(contract, name) for contract in CONTRACTS for name in contract.DESCRIPTOR.message_types_by_name]
ENUMS = [
    enum
    for contract in (*CONTRACTS, error_reason_pb2)
    for enum in (
        *contract.DESCRIPTOR.enum_types_by_name.values(),
        *(e for m in contract.DESCRIPTOR.message_types_by_name.values() for e in m.enum_types),
    )
]
EARLIEST, LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    FieldDescriptor.TYPE_STRING: st.text(max_size=8),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=8),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
}


@st.composite
def messages(draw: st.DrawFn, kind: type[Message], depth: int = 3) -> Message:
    message = kind()
    if kind is Timestamp:
        message.seconds = draw(st.integers(int(EARLIEST.timestamp()), int(LATEST.timestamp())))  # type: ignore[attr-defined]
        message.nanos = draw(st.integers(0, 999_999)) * 1_000  # type: ignore[attr-defined]
        return message
    for field in kind.DESCRIPTOR.fields:
        if draw(st.booleans()):
            fill(draw, message, field, depth)
    return message


def fill(draw: st.DrawFn, message: Message, field: Any, depth: int) -> None:
    if field.message_type is None:
        numbers = [value.number for value in field.enum_type.values] if field.enum_type else []
        values = st.sampled_from(numbers) if numbers else SCALARS[field.type]
        if field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(values, max_size=3)))
        else:
            setattr(message, field.name, draw(values))
    elif field.message_type.GetOptions().map_entry:
        values = SCALARS[field.message_type.fields_by_name["value"].type]
        getattr(message, field.name).update(
            draw(st.dictionaries(SCALARS[FieldDescriptor.TYPE_STRING], values, max_size=2))
        )
    elif depth:
        inner = draw(messages(field.message_type._concrete_class, depth - 1))
        if field.is_repeated:
            getattr(message, field.name).append(inner)
        else:
            getattr(message, field.name).CopyFrom(inner)


def expected(message: Message) -> dict[str, Any]:
    """Say the same by protobuf's own JSON, in Ranktrail's words."""
    standard = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return {field.name: reworded(standard.get(field.name), field, message) for field in message.DESCRIPTOR.fields}


def reworded(value: Any, field: Any, message: Message) -> Any:
    inside = getattr(message, field.name)
    if value is None:
        return None
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return dict(sorted(inside.items()))
    if field.is_repeated:
        return [reworded_one(one, field, part) for one, part in zip(value, inside, strict=True)]
    return reworded_one(value, field, inside)


def reworded_one(value: Any, field: Any, inside: Any) -> Any:
    if field.message_type is Timestamp.DESCRIPTOR:
        return inside.ToDatetime(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
    if field.message_type is not None:
        return expected(inside)
    if field.enum_type is not None:
        prefix = field.enum_type.values_by_number[0].name.removesuffix("UNSPECIFIED")
        word = value.removeprefix(prefix).lower()
        return None if word == "unspecified" else word
    return int(value) if field.type == FieldDescriptor.TYPE_INT64 else value


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.DESCRIPTOR.name)
def test_every_message_reads_as_protobufs_own_json_says_in_our_words(kind: type[Message]) -> None:
    @settings(max_examples=12, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(messages(kind))
    def check(message: Message) -> None:
        value = message_json(message)
        assert value == expected(message)
        assert json.loads(dumps(value)) == value
        assert list(value) == [field.name for field in kind.DESCRIPTOR.fields]

    check()


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.full_name)
def test_every_word_of_an_enum_reads_back_and_the_unspecified_one_is_null(enum: Any) -> None:
    assert enum_word(enum, 0) is None
    for word in enum_words(enum):
        assert word == word.lower()
        assert enum_word(enum, enum_number(enum, word)) == word
    assert len(enum_words(enum)) == len(enum.values) - 1


def test_an_enum_number_newer_than_this_client_stays_a_number() -> None:
    assert enum_word(trace_pb2.Layer.DESCRIPTOR, 99) == 99


def test_absent_is_null_and_zero_is_zero() -> None:
    value = message_json(trace_pb2.Candidate(bm25_score=0.0, unit_key="u"))
    assert value["bm25_score"] == 0.0
    assert value["bm25_rank"] is None
    assert value["exclusion_reason"] is None
    assert value["heading_path"] == []
    assert value["selected"] is False


def test_a_number_of_64_bits_is_a_number_and_bytes_are_base64() -> None:
    assert message_json(trace_pb2.Resource(size_bytes=2**53 + 1))["size_bytes"] == 2**53 + 1
    sent = ranker_service_pb2.ActivateMemoryResponse(next_activation_state=b"\x00\xff")
    assert message_json(sent)["next_activation_state"] == base64.b64encode(b"\x00\xff").decode()


def test_a_time_has_six_places_and_a_z() -> None:
    run = history_service_pb2.RetrievalRun(create_time=Timestamp(seconds=0, nanos=1_999))
    assert message_json(run)["create_time"] == "1970-01-01T00:00:00.000001Z"
    assert message_json(run)["complete_time"] is None


def test_a_double_without_a_json_number_is_null() -> None:
    value = message_json(trace_pb2.Candidate(bm25_score=float("nan"), dense_score=float("inf")))
    assert value["bm25_score"] is None
    assert value["dense_score"] is None


@given(st.text(st.characters(), max_size=20))
def test_a_json_text_never_steers_a_terminal_and_means_the_same(text: str) -> None:
    shown = dumps({"text": text}, indent=2)
    assert json.loads(shown) == {"text": text}
    assert not set(shown) & set("\x1b\x7f\x9b\u202e\u2066\u200f\x07\x08\r")

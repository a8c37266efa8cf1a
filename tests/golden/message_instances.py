"""Instances of any message, made from its descriptor alone: what another implementation is likely to get wrong.

`minimal` sets nothing and `full` everything. The hostile ones: `zero` sets every field that knows absence to its zero,
`largest` and `smallest` hold the ends of each type's range and text that breaks careless code, `newer` is `full` as a
peer of a later release would send it, with enum values and fields that nobody here knows. A message that holds a oneof
has one instance a member of it, named `full.member` and so on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import Timestamp

from tests.descriptors import is_map

Field = FieldDescriptor
Choice = tuple[str, ...]
"""Members of oneofs, outermost first."""
UNKNOWN_ENUM_VALUE = 999
UNKNOWN_FIELDS = bytes.fromhex(
    "80e205" "ffffffffffffffffff01"  # 12000, varint: the largest
    "8ae205" "03e282ac"  # 12001, length-delimited: U+20AC
    "91e205" "000000000000f87f"  # 12002, 64 bits: no number
    "f5ffffff0f" "ffffffff"  # 536870910, 32 bits: almost the largest field number
)  # fmt: skip
MOMENTS = {  # the ends of what a Timestamp may hold
    "full": Timestamp(seconds=1_796_074_616, nanos=123_456_000),
    "zero": Timestamp(),
    "largest": Timestamp(seconds=253_402_300_799, nanos=999_999_999),
    "smallest": Timestamp(seconds=-62_135_596_800),
}
TEXTS: Mapping[str, tuple[str, ...]] = {
    "zero": ("",),
    "largest": (
        "\U0001f6b2\U0010ffff four bytes each",
        "cafe\u0301 n\u0303 decomposed",
        "\u05e9\u05dc\u05d5\u05dd \u202edetrevni",
        "\ufeff\u2028\u2029\x7f\x85 marks",
    ),
    "smallest": ("\0", "a\0b", '"\\\r\n\t</script>', "0"),
}
BLOBS = {"zero": b"", "full": bytes.fromhex("00ff10"), "largest": bytes(range(256)), "smallest": b"\0"}
INT32, INT64 = 2**31 - 1, 2**63 - 1
DOUBLES: Mapping[str, tuple[float, ...]] = {
    "zero": (0.0,),
    "largest": (1.7976931348623157e308, float("inf"), 0.1 + 0.2),
    "smallest": (5e-324, float("-inf"), -0.0, float("nan")),
}


@dataclass(frozen=True)
class Instance:
    """A named message."""

    name: str
    message: Message


def instances(descriptor: Descriptor) -> Iterator[Instance]:
    """Yield every instance of a message type; the same at each call."""
    yield Instance("minimal", GetMessageClass(descriptor)())
    for kind in ("full", "zero", "largest", "smallest", "newer") if descriptor.fields else ("newer",):
        for choice in _choices(descriptor):
            yield Instance(".".join((kind, *choice)), _filled(descriptor, kind, choice))


def _choices(descriptor: Descriptor) -> list[Choice]:
    """Return every way to choose a member of the message's oneof, or of the one in a message that it holds."""
    oneof = _oneof(descriptor)
    if oneof is not None:
        return [(field.name, *inner) for field in oneof.fields for inner in _choices_of(field)]
    inner_choices = [choices for field in descriptor.fields if (choices := _choices_of(field)) != [()]]
    assert len(inner_choices) <= 1, descriptor.full_name
    return inner_choices[0] if inner_choices else [()]


def _choices_of(field: Field) -> list[Choice]:
    return [()] if field.message_type is None else _choices(field.message_type)


def _oneof(descriptor: Descriptor) -> OneofDescriptor | None:
    """Return the oneof that the contract spells out; each `optional` makes another, which holds it alone."""
    oneofs = [oneof for oneof in descriptor.oneofs if [field.name for field in oneof.fields] != [oneof.name[1:]]]
    assert len(oneofs) <= 1, descriptor.full_name
    return oneofs[0] if oneofs else None


def _filled(descriptor: Descriptor, kind: str, choice: Choice) -> Message:
    if descriptor is Timestamp.DESCRIPTOR:
        return MOMENTS["full" if kind == "newer" else kind]
    message = GetMessageClass(descriptor)()
    oneof = _oneof(descriptor)
    left_out = {field.name for field in oneof.fields} - {choice[0]} if oneof else set()
    for field in descriptor.fields:
        if field.name not in left_out:
            _fill(message, field, kind, choice[1:] if oneof else choice)
    if kind == "newer":
        message.MergeFromString(UNKNOWN_FIELDS)
    return message


def _fill(message: Message, field: Field, kind: str, choice: Choice) -> None:
    if is_map(field):
        _fill_map(message, field, kind)
    elif field.is_repeated:
        _fill_list(message, field, kind, choice)
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(_filled(field.message_type, kind, choice))
        getattr(message, field.name).SetInParent()
    else:
        setattr(message, field.name, _scalar(field, kind, field.number))


def _fill_list(message: Message, field: Field, kind: str, choice: Choice) -> None:
    values = getattr(message, field.name)
    for turn in range(1 if kind == "zero" else 2):
        if field.message_type is not None:
            values.add().CopyFrom(_filled(field.message_type, kind, choice))
        else:
            values.append(_scalar(field, kind, field.number + turn))


def _fill_map(message: Message, field: Field, kind: str) -> None:
    assert field.message_type is not None
    key, value = (field.message_type.fields_by_name[part] for part in ("key", "value"))
    assert key.type == Field.TYPE_STRING
    assert value.message_type is None, field.full_name
    for turn in range(1 if kind == "zero" else 2):
        text = _scalar(key, kind, field.number + turn)
        # Some implementations order keys that look like numbers by their value.
        getattr(message, field.name)[f"{text}_" if text.isdigit() else text] = _scalar(value, kind, field.number + turn)


def _scalar(field: Field, kind: str, turn: int) -> Any:
    """Return the value of this kind; `turn` chooses where a kind has several."""
    if field.enum_type is not None:
        return _enum_value(field.enum_type, kind, turn)
    kind = "full" if kind == "newer" else kind
    if field.type == Field.TYPE_STRING:
        return f"{field.name} {turn}" if kind == "full" else _one_of(TEXTS[kind], turn)
    if field.type == Field.TYPE_BYTES:
        return BLOBS[kind]
    if field.type == Field.TYPE_BOOL:
        return kind in {"full", "largest"}
    if field.type == Field.TYPE_DOUBLE:
        return turn + 0.25 if kind == "full" else _one_of(DOUBLES[kind], turn)
    limit = {Field.TYPE_INT32: INT32, Field.TYPE_INT64: INT64}[field.type]
    return {"full": turn + 100, "zero": 0, "largest": limit, "smallest": -limit - 1}[kind]


def _enum_value(enum: EnumDescriptor, kind: str, turn: int) -> int:
    known = [value.number for value in enum.values if value.number != 0]
    return {
        "full": cast("int", _one_of(known, turn)),
        "zero": 0,
        "newer": UNKNOWN_ENUM_VALUE,
        "largest": INT32,
        "smallest": -INT32 - 1,
    }[kind]


def _one_of(values: Any, turn: int) -> Any:
    return values[turn % len(values)]

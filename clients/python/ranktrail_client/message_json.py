"""Messages as JSON values.

Field names are those of the contract. An enum is its word in lower case without the type's prefix, and null where it is
unspecified; a number that this client has no word for stays a number. A 64-bit integer is a number. Bytes are base64.
A Timestamp is an RFC 3339 string in UTC with microseconds, such as 2026-11-30T18:46:56.123456Z. A field that has a
presence and is not set is null; an empty list is [] and an empty map {}. A double that is not finite has no JSON number
and is null.
"""

import base64
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail_client.safe_text import UNSAFE

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSPECIFIED = "UNSPECIFIED"


def message_json(message: Message) -> dict[str, Any]:
    """Return every field of `message`, in the contract's order."""
    fields: Sequence[Any] = message.DESCRIPTOR.fields
    return {field.name: _field_json(message, field) for field in fields}


def enum_word(descriptor: EnumDescriptor, number: int) -> str | int | None:
    """Return the JSON word of an enum's value."""
    value = descriptor.values_by_number.get(number)
    if value is None:
        return number
    word = value.name.removeprefix(_prefix(descriptor))
    return None if word == _UNSPECIFIED else word.lower()


def enum_number(descriptor: EnumDescriptor, word: str) -> int:
    """Return the number of a JSON word; raise KeyError for any other text."""
    return descriptor.values_by_name[_prefix(descriptor) + word.upper()].number


def enum_words(descriptor: EnumDescriptor) -> list[str]:
    """Return every word of an enum, in the contract's order."""
    return [str(word) for value in descriptor.values if (word := enum_word(descriptor, value.number)) is not None]


def dumps(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Return a JSON text that is safe to show: what would steer a terminal is written as an escape."""
    text = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
    return UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character == "\n":  # inside a string it is escaped already; this one indents the document
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def _prefix(descriptor: EnumDescriptor) -> str:
    return descriptor.values_by_number[0].name.removesuffix(_UNSPECIFIED)


def _field_json(message: Message, field: FieldDescriptor) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map_json(getattr(message, field.name), field.message_type)
    if field.is_repeated:
        to_json = _value_json(field)
        return [to_json(value) for value in getattr(message, field.name)]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value_json(field)(getattr(message, field.name))


def _map_json(entries: Mapping[Any, Any], entry: Descriptor) -> dict[str, Any]:
    to_json = _value_json(entry.fields_by_name["value"])
    return {str(key): to_json(entries[key]) for key in sorted(entries)}


def _value_json(field: FieldDescriptor) -> Callable[[Any], Any]:
    enum = field.enum_type
    if enum is not None:
        return lambda number: enum_word(enum, number)
    if field.message_type is not None:
        return timestamp_json if field.message_type is Timestamp.DESCRIPTOR else message_json
    return _SCALARS.get(field.type, _itself)


def _itself(value: Any) -> Any:
    return value


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_SCALARS: dict[int, Callable[[Any], Any]] = {
    FieldDescriptor.TYPE_BYTES: _base64,
    FieldDescriptor.TYPE_DOUBLE: _finite,
    FieldDescriptor.TYPE_FLOAT: _finite,
}


def timestamp_json(timestamp: Timestamp) -> str | None:
    """Return a time as an RFC 3339 string; null outside the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1_000)
    except OverflowError:  # outside the years 1 to 9999 nothing is a time
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

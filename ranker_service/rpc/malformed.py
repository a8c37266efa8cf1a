"""Requests whose bytes do not parse: they become a value that names the field, not gRPC's INTERNAL."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WHOLE_REQUEST = "request"


@dataclass(frozen=True, slots=True)
class MalformedRequest:
    """Stands for a request that does not parse; `field` is where, as well as can be told."""

    field: str


def tolerant(parse: Any) -> Callable[[bytes], Any]:
    """Return a deserializer that gives MalformedRequest where `parse`, a message's FromString, raises."""

    def deserialize(payload: bytes) -> Any:
        try:
            return parse(payload)
        except DecodeError:
            descriptor = getattr(getattr(parse, "__self__", None), "DESCRIPTOR", None)
            return MalformedRequest(_WHOLE_REQUEST if descriptor is None else broken_field(payload, descriptor))

    return deserialize


def broken_field(payload: bytes, descriptor: Descriptor) -> str:
    """Return the dotted name of the first text field that is not UTF-8, or "request" where the wire format is broken."""
    try:
        return _search(payload, descriptor) or _WHOLE_REQUEST
    except (IndexError, ValueError):
        return _WHOLE_REQUEST


def _search(payload: bytes, descriptor: Descriptor) -> str | None:
    at = 0
    while at < len(payload):
        tag, at = _read_varint(payload, at)
        content, at = _read_value(payload, at, tag & 7)
        field = descriptor.fields_by_number.get(tag >> 3)
        found = None if field is None or content is None else _inside(content, field)
        if found is not None:
            return found
    return None


def _inside(content: bytes, field: FieldDescriptor) -> str | None:
    if field.type == FieldDescriptor.TYPE_STRING:
        return None if _is_utf8(content) else str(field.name)
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        found = _search(content, field.message_type)
        return None if found is None else f"{field.name}.{found}"
    return None


def _read_value(payload: bytes, at: int, wire_type: int) -> tuple[bytes | None, int]:
    if wire_type == _VARINT:
        return None, _read_varint(payload, at)[1]
    if wire_type == _BYTES:
        size, at = _read_varint(payload, at)
        if at + size > len(payload):
            raise ValueError("truncated")
        return payload[at : at + size], at + size
    return None, at + {_FIXED64: 8, _FIXED32: 4}.get(wire_type, len(payload))


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            return value, at
    raise ValueError("a varint has at most ten bytes")


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True

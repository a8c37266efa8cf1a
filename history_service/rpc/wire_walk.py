"""Finds the field that keeps a message's bytes from parsing, by walking the protobuf wire format.

Wire format: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

from google.protobuf.descriptor import Descriptor, FieldDescriptor

_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_MAX_VARINT_BYTES = 10


class _Torn(Exception):
    """The bytes end inside a field, or hold a tag that no field has."""


def unparsable_field(raw: bytes, descriptor: Descriptor) -> tuple[str, str]:
    """Return (path of the first field that is wrong, what is wrong with it).

    The path is such as `started.query` or `candidates.candidates[3].title`; the message's own name where no field can be
    blamed.
    """
    path, problem = _first_problem(raw, descriptor) or ("", "does not parse: send the bytes of such a message")
    return path or descriptor.name, problem


def top_level_text(raw: bytes, number: int) -> str:
    """Return a string field of the message by number; empty where it is absent or unreadable."""
    try:
        texts = [content for field, content in _fields(raw) if field == number and isinstance(content, bytes)]
        return texts[-1].decode("utf-8") if texts else ""
    except (_Torn, UnicodeDecodeError):
        return ""


def _first_problem(raw: bytes, descriptor: Descriptor) -> tuple[str, str] | None:
    seen: dict[int, int] = {}
    try:
        for number, content in _fields(raw):
            field = descriptor.fields_by_number.get(number)
            if field is None or content is None:
                continue
            name = f"{field.name}[{seen.get(number, 0)}]" if field.is_repeated else field.name
            seen[number] = seen.get(number, 0) + 1
            problem = _problem_in(field, content)
            if problem is not None:
                path, sentence = problem
                return f"{name}.{path}" if path else name, sentence
    except _Torn:
        return "", "does not parse: its bytes are torn"
    return None


def _problem_in(field: FieldDescriptor, content: bytes) -> tuple[str, str] | None:
    if field.type == FieldDescriptor.TYPE_STRING:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return "", "is not valid UTF-8: send valid UTF-8 without lone surrogates"
    if field.message_type is not None:
        return _first_problem(content, field.message_type)
    return None


def _fields(raw: bytes) -> Iterator[tuple[int, bytes | None]]:
    """Yield (field number, content) of each field; content only of length-delimited ones."""
    position = 0
    while position < len(raw):
        tag, position = _varint(raw, position)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            _, position = _varint(raw, position)
            yield number, None
        elif kind == _DELIMITED:
            size, position = _varint(raw, position)
            position += size
            _require(position <= len(raw))
            yield number, raw[position - size : position]
        else:
            _require(kind in _FIXED_SIZES)
            position += _FIXED_SIZES[kind]
            _require(position <= len(raw))
            yield number, None


def _varint(raw: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        _require(position + index < len(raw))
        byte = raw[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:  # noqa: PLR2004 - the high bit says that more follows
            return value, position + index + 1
    raise _Torn


def _require(whole: bool) -> None:
    if not whole:
        raise _Torn

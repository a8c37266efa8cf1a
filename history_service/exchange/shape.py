"""Checks a JSON value against a JSON Schema.

Of JSON Schema 2020-12 it knows what the fixture's schema says: type, const, enum, minimum, maximum, pattern, minLength,
maxLength, items, maxItems, properties, required, additionalProperties and `x-max-bytes`, a limit on bytes of UTF-8.
Objects are closed: a property that the schema does not name is refused.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from history_service.domain.errors import FixtureInvalid

Schema = Mapping[str, Any]
Check = Callable[[Any, str], None]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def shape_check(schema: Schema) -> Check:
    """Return a function of a value and its path that raises FixtureInvalid, naming the field that is wrong."""
    if "const" in schema:
        return _one_of((schema["const"],))
    if "enum" in schema:
        return _one_of(tuple(schema["enum"]))
    named = schema["type"]
    names = [named] if isinstance(named, str) else list(named)
    details = {name: _DETAILS[name](schema) for name in names if name in _DETAILS}
    return _typed(names, {kind: details.get(name) for name in names for kind in _TYPES[name]})


def _one_of(allowed: Sequence[Any]) -> Check:
    words = ", ".join("null" if word is None else str(word) for word in allowed)
    kinds = {(type(word), word) for word in allowed}

    def check(value: Any, path: str) -> None:
        if isinstance(value, list | dict) or (type(value), value) not in kinds:
            raise FixtureInvalid(path, f"must be {words}" if len(allowed) == 1 else f"must be one of {words}")

    return check


def _typed(names: Sequence[str], details: Mapping[type, Check | None]) -> Check:
    expected = " or ".join(names)

    def check(value: Any, path: str) -> None:
        kind = type(value)
        if kind not in details:
            raise FixtureInvalid(path, f"must be {expected}")
        detail = details[kind]
        if detail is not None:
            detail(value, path)

    return check


def _text(schema: Schema) -> Check | None:
    pattern, limit = schema.get("pattern"), schema.get("x-max-bytes")
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    matches = None if pattern is None else re.compile(pattern.removeprefix("^").removesuffix("$")).fullmatch

    def check(value: str, path: str) -> None:
        if len(value) < least:
            raise FixtureInvalid(path, "is empty")
        if most is not None and len(value) > most:
            raise FixtureInvalid(path, f"has more than {most} characters")
        _check_bytes(value, path, limit)
        if matches is not None and matches(value) is None:
            raise FixtureInvalid(path, f"must match {pattern}")

    return check


def _check_bytes(value: str, path: str, limit: int | None) -> None:
    try:
        size = len(value) if value.isascii() else len(value.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise FixtureInvalid(path, "holds a surrogate, which is no text") from error
    if limit is not None and size > limit:
        raise FixtureInvalid(path, f"has more than {limit} bytes")


def _number(schema: Schema) -> Check | None:
    least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)

    def check(value: float, path: str) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            raise FixtureInvalid(path, "must be a finite number")
        if not least <= value <= most:
            raise FixtureInvalid(path, f"must be {least} or more" if value < least else f"must be {most} or less")

    return check


def _array(schema: Schema) -> Check | None:
    item, most = shape_check(schema["items"]), schema.get("maxItems")

    def check(value: list[Any], path: str) -> None:
        if most is not None and len(value) > most:
            raise FixtureInvalid(path, f"has more than {most} items")
        for number, element in enumerate(value):
            item(element, f"{path}[{number}]")

    return check


def _object(schema: Schema) -> Check | None:
    if "properties" not in schema:
        return _mapping(shape_check(schema["additionalProperties"]))
    properties = {name: shape_check(known) for name, known in schema["properties"].items()}

    def check(value: dict[str, Any], path: str) -> None:
        if value.keys() != properties.keys():
            missing, unknown = properties.keys() - value.keys(), value.keys() - properties.keys()
            field = min(unknown or missing)
            raise FixtureInvalid(f"{path}.{field}", "is no field of a fixture" if unknown else "is missing")
        for name, known in properties.items():
            known(value[name], f"{path}.{name}")

    return check


def _mapping(item: Check) -> Check:
    def check(value: dict[str, Any], path: str) -> None:
        for name, element in value.items():
            _check_bytes(name, path, None)
            item(element, f"{path}.{name}")

    return check


_DETAILS: Mapping[str, Callable[[Schema], Check | None]] = {
    "string": _text,
    "integer": _number,
    "number": _number,
    "array": _array,
    "object": _object,
}

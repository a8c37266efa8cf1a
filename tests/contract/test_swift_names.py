"""No name of the contracts is one that Swift, or the code that its generators write, has taken."""

import re
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from tests.descriptors import contract_files, contract_methods


def _words(text: str) -> set[str]:
    """Return the words of a text without regard to case, since generators change it."""
    return set(text.lower().split())


KEYWORDS = """
    actor Any as associatedtype async await borrowing break case catch class consuming continue default defer deinit do
    each else enum extension fallthrough false fileprivate for func get guard if import in indirect infix init inout
    internal is isolated lazy let macro mutating nil nonisolated nonmutating open operator optional override package
    postfix precedencegroup prefix private Protocol public repeat required rethrows return self sending set some static
    struct subscript super switch throw throws true try Type typealias unowned var weak where while
"""
MEMBERS = """
    allCases debugDescription description encode extensionFieldValues hash hashValue isInitialized jsonString
    jsonUTF8Data merge none protoMessageName rawValue serializedBytes textFormatString traverse unknownFields
"""
TYPES = "Array Bool Data Dictionary Double Error Int32 Int64 Never Optional Result Sequence Set String Task Void"
TAKEN_FIELDS = _words(KEYWORDS + MEMBERS)
TAKEN_CASES = _words("init Protocol self Type" + MEMBERS)
"""After a dot Swift takes every other keyword as a name: `.internal`, `.import`."""
TAKEN_TYPES = _words(KEYWORDS + TYPES)


def _messages() -> Iterator[Descriptor]:
    waiting = [message for file in contract_files() for message in file.message_types_by_name.values()]
    while waiting:
        message = waiting.pop()
        waiting += message.nested_types
        yield message


def _enums() -> Iterator[EnumDescriptor]:
    for file in contract_files():
        yield from file.enum_types_by_name.values()
    for message in _messages():
        yield from message.enum_types


def _swift(name: str) -> str:
    """Return a name as Swift's generators write it, but for the first letter's case."""
    return re.sub("_+", "", name.title()) if "_" in name else name


def _field_names() -> Iterator[tuple[str, str]]:
    for message in _messages():
        yield from ((field.full_name, field.name) for field in message.fields)
        yield from ((oneof.full_name, oneof.name) for oneof in message.oneofs if not oneof.name.startswith("_"))
    for method in contract_methods():
        yield method.full_name, method.name


def _case_names() -> Iterator[tuple[str, str]]:
    for enum in _enums():
        prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
        yield from ((f"{enum.full_name}.{value.name}", value.name.removeprefix(prefix)) for value in enum.values)


@pytest.mark.parametrize("name", ["Type", "Protocol", "self", "init", "description", "hash_value", "HASH_VALUE"])
def test_what_swift_has_taken_is_known(name: str) -> None:
    assert _swift(name).lower() in TAKEN_FIELDS & TAKEN_CASES


def test_no_field_oneof_or_method_has_a_name_that_is_taken() -> None:
    assert [full for full, name in _field_names() if _swift(name).lower() in TAKEN_FIELDS] == []


def test_no_enum_value_has_a_name_that_is_taken() -> None:
    assert [full for full, name in _case_names() if _swift(name).lower() in TAKEN_CASES] == []


def test_no_message_or_enum_has_a_name_that_is_taken() -> None:
    assert [kind.full_name for kind in (*_messages(), *_enums()) if kind.name.lower() in TAKEN_TYPES] == []


def test_no_field_is_named_as_the_presence_of_another() -> None:
    for message in _messages():
        names = {_swift(field.name).lower() for field in message.fields}
        assert not {f"{verb}{name}" for verb in ("has", "clear") for name in names} & names, message.full_name


def test_names_stay_different_without_regard_to_case() -> None:
    for message in _messages():
        names = [_swift(field.name).lower() for field in message.fields]
        assert len(set(names)) == len(names), message.full_name
    for enum in _enums():
        assert len({value.name.lower() for value in enum.values}) == len(enum.values), enum.full_name

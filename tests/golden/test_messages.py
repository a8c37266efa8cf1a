"""The golden messages are current, whole, and what Python reads and writes."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import json_format, proto, text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from tests.descriptors import is_map, reachable, rpc_messages
from tests.golden.make_messages import MESSAGES, delimited, json_line, make, text_block
from tests.golden.message_instances import UNKNOWN_ENUM_VALUE, UNKNOWN_FIELDS, Instance

INDEX: dict[str, list[str]] = json.loads((MESSAGES / "index.json").read_text())
TYPES = pytest.mark.parametrize("descriptor", rpc_messages(), ids=lambda descriptor: descriptor.full_name)


def _golden(descriptor: Descriptor, suffix: str) -> Path:
    return MESSAGES / f"{descriptor.full_name}{suffix}"


def _read(descriptor: Descriptor) -> list[Instance]:
    stream = io.BytesIO(_golden(descriptor, ".binpb").read_bytes())
    kind = GetMessageClass(descriptor)
    messages = [proto.parse_length_prefixed(kind, stream) for _ in INDEX[descriptor.full_name]]
    assert not stream.read()
    return [Instance(name, m) for name, m in zip(INDEX[descriptor.full_name], messages, strict=True)]


def _bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def _known(message: Message) -> bytes:
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return _bytes(known)


def test_the_committed_messages_are_what_the_contracts_make(tmp_path: Path) -> None:
    make(tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in MESSAGES.iterdir() if path.name != "README.md"}
    assert made == committed, "run make protos"


@TYPES
def test_binary_is_decoded_and_encoded_again_byte_for_byte(descriptor: Descriptor) -> None:
    again = b"".join(delimited(instance) for instance in _read(descriptor))
    assert again == _golden(descriptor, ".binpb").read_bytes()


@TYPES
def test_json_holds_the_message_without_its_unknown_fields(descriptor: Descriptor) -> None:
    lines = _golden(descriptor, ".jsonl").read_text("ascii").splitlines()
    for instance, line in zip(_read(descriptor), lines, strict=True):
        parsed = json_format.Parse(line, GetMessageClass(descriptor)())
        assert _bytes(parsed) == _known(instance.message), instance.name
        assert json_line(instance) == line + "\n"


@TYPES
def test_text_holds_the_message_without_its_unknown_fields(descriptor: Descriptor) -> None:
    blocks = re.split("^(?=# )", _golden(descriptor, ".txtpb").read_text("ascii"), flags=re.MULTILINE)[1:]
    for instance, block in zip(_read(descriptor), blocks, strict=True):
        parsed = text_format.Parse(block, GetMessageClass(descriptor)())
        assert _bytes(parsed) == _known(instance.message), instance.name
        assert text_block(instance).strip() == block.strip()


@TYPES
def test_the_full_instances_set_every_field_of_every_message_within(descriptor: Descriptor) -> None:
    fulls = [instance.message for instance in _read(descriptor) if instance.name.startswith("full")]
    missing = {field.full_name for message in reachable(descriptor) for field in message.fields}
    for message in fulls:
        missing -= set(_set_fields(message))
    assert {name for name in missing if not name.startswith("google.") and "Entry." not in name} == set()


def _set_fields(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        yield field.full_name
        if field.message_type is not None and not is_map(field):
            for within in value if field.is_repeated else [value]:
                yield from _set_fields(within)


@TYPES
def test_absent_and_zero_are_different_messages(descriptor: Descriptor) -> None:
    messages = {instance.name.partition(".")[0]: instance.message for instance in _read(descriptor)}
    assert _bytes(messages["minimal"]) == b""
    knows_absence = [field for field in descriptor.fields if field.has_presence]
    for field in knows_absence:
        assert not messages["minimal"].HasField(field.name)
    if knows_absence:
        assert _bytes(messages["zero"]) != b""


@TYPES
def test_a_newer_peer_sends_enum_values_and_fields_that_nobody_knows(descriptor: Descriptor) -> None:
    for instance in _read(descriptor):
        if instance.name.startswith("newer"):
            assert _bytes(instance.message).endswith(UNKNOWN_FIELDS)
            for field, value in instance.message.ListFields():
                if field.type == FieldDescriptor.TYPE_ENUM:
                    assert set(value if field.is_repeated else [value]) == {UNKNOWN_ENUM_VALUE}

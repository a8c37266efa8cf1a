"""Every contract as Python sees it, found in protos/ so that a new one is seen by itself."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor, MethodDescriptor

ROOT = Path(__file__).resolve().parents[1]
PROTOS = ROOT / "protos"


def contract_files() -> list[FileDescriptor]:
    """Return the descriptor of every contract, by path."""
    paths = sorted(path.relative_to(PROTOS).with_suffix("") for path in (PROTOS / "ranktrail").rglob("*.proto"))
    return [importlib.import_module(".".join(path.parts) + "_pb2").DESCRIPTOR for path in paths]


def contract_methods() -> list[MethodDescriptor]:
    """Return every RPC, in the contracts' order."""
    return [
        method for file in contract_files() for service in file.services_by_name.values() for method in service.methods
    ]


def rpc_messages() -> list[Descriptor]:
    """Return every request and response type, by name."""
    messages = {
        message.full_name: message
        for method in contract_methods()
        for message in (method.input_type, method.output_type)
    }
    return [messages[name] for name in sorted(messages)]


def reachable(message: Descriptor) -> Iterator[Descriptor]:
    """Yield a message and each that it holds, once; fail for one that holds itself."""
    seen: dict[str, Descriptor] = {}
    _collect(message, seen, ())
    yield from seen.values()


def _collect(message: Descriptor, seen: dict[str, Descriptor], above: tuple[str, ...]) -> None:
    assert message.full_name not in above, f"{message.full_name} holds itself"
    seen[message.full_name] = message
    for field in message.fields:
        if field.message_type is not None:
            _collect(field.message_type, seen, (*above, message.full_name))


def is_map(field: FieldDescriptor) -> bool:
    """Say whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)

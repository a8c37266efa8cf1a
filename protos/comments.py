"""What the contracts say of each thing they define."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto

Path = tuple[int, ...]
# Field numbers of descriptor.proto, by which a comment's place is named.
_FILE_MESSAGE, _FILE_ENUM, _FILE_SERVICE, _SYNTAX = 4, 5, 6, 12
_MESSAGE_FIELD, _MESSAGE_NESTED, _MESSAGE_ENUM, _MESSAGE_ONEOF = 2, 3, 4, 8
_ENUM_VALUE = _SERVICE_METHOD = 2


def comments(file: FileDescriptorProto) -> dict[str, str]:
    """Return the comment of every thing in a file by its full name; lines are joined, paragraphs and lists stay.

    The name of an enum's value is below the enum's, unlike in protobuf itself, so that it is found there.
    """
    by_path = {tuple(location.path): location.leading_comments for location in file.source_code_info.location}
    return {name: _text(by_path.get(path, "")) for name, path in _things(file)}


def file_comment(file: FileDescriptorProto) -> str:
    """Return what stands above the syntax line."""
    for location in file.source_code_info.location:
        if tuple(location.path) == (_SYNTAX,):
            return _text(location.leading_comments)
    return ""


def _text(comment: str) -> str:
    lines = [line.removeprefix(" ").rstrip() for line in comment.strip("\n").split("\n")]
    text = ""
    for line in lines:
        begins = not line or line.lstrip().startswith("- ") or text.endswith("\n")
        text += f"\n{line.strip()}" if begins else f" {line.strip()}"
    return text.strip()


def _things(file: FileDescriptorProto) -> Iterator[tuple[str, Path]]:
    for index, message in enumerate(file.message_type):
        yield from _of_message(message, file.package, (_FILE_MESSAGE, index))
    for index, enum in enumerate(file.enum_type):
        yield from _of_enum(enum, file.package, (_FILE_ENUM, index))
    for index, service in enumerate(file.service):
        name, path = f"{file.package}.{service.name}", (_FILE_SERVICE, index)
        yield name, path
        for at, method in enumerate(service.method):
            yield f"{name}.{method.name}", (*path, _SERVICE_METHOD, at)


def _of_message(message: DescriptorProto, scope: str, path: Path) -> Iterator[tuple[str, Path]]:
    name = f"{scope}.{message.name}"
    yield name, path
    for index, field in enumerate(message.field):
        yield f"{name}.{field.name}", (*path, _MESSAGE_FIELD, index)
    for index, oneof in enumerate(message.oneof_decl):
        yield f"{name}.{oneof.name}", (*path, _MESSAGE_ONEOF, index)
    for index, nested in enumerate(message.nested_type):
        yield from _of_message(nested, name, (*path, _MESSAGE_NESTED, index))
    for index, enum in enumerate(message.enum_type):
        yield from _of_enum(enum, name, (*path, _MESSAGE_ENUM, index))


def _of_enum(enum: EnumDescriptorProto, scope: str, path: Path) -> Iterator[tuple[str, Path]]:
    name = f"{scope}.{enum.name}"
    yield name, path
    for index, value in enumerate(enum.value):
        yield f"{name}.{value.name}", (*path, _ENUM_VALUE, index)

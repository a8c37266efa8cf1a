"""One package of the contracts as a page of Markdown."""

import re
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from protos.comments import comments, file_comment

Field = FieldDescriptorProto
_BESIDE_CODE = re.compile(r"(`[^`]*`)")


class Page:
    """A package; each service, method, message and enum has a heading of its own."""

    def __init__(self, file: FileDescriptorProto) -> None:
        self._file = file
        self._said = comments(file)

    def text(self) -> str:
        """Return the page."""
        file = self._file
        parts = [f"# {file.package}", _safe(file_comment(file)), f"Source: [`{file.name}`](../../protos/{file.name})"]
        for service in file.service:
            parts += self._service(service)
        if file.message_type:
            parts.append("## Messages")
        for message in file.message_type:
            parts += self._message(message, "")
        if file.enum_type:
            parts.append("## Enums")
        for enum in file.enum_type:
            parts += self._enum(enum, "")
        return "\n\n".join(parts) + "\n"

    def _comment(self, local_name: str) -> str:
        return _safe(self._said[f"{self._file.package}.{local_name}"])

    def _service(self, service: ServiceDescriptorProto) -> Iterator[str]:
        yield f"## {service.name}"
        yield self._comment(service.name)
        for method in service.method:
            yield f"### {method.name}"
            yield self._signature(method)
            yield self._comment(f"{service.name}.{method.name}")

    def _signature(self, method: MethodDescriptorProto) -> str:
        given = ("stream of " if method.client_streaming else "") + self._link(method.input_type)
        answer = ("stream of " if method.server_streaming else "") + self._link(method.output_type)
        return f"{given} → {answer}"

    def _message(self, message: DescriptorProto, scope: str) -> Iterator[str]:
        name = scope + message.name
        yield f"### {name}"
        yield self._comment(name)
        if message.field:
            rows = ["| | field | type | |", "|---|---|---|---|"]
            yield "\n".join(rows + [self._row(message, field, name) for field in message.field])
        for enum in message.enum_type:
            yield from self._enum(enum, f"{name}.")
        for nested in message.nested_type:
            if not nested.options.map_entry:
                yield from self._message(nested, f"{name}.")

    def _row(self, message: DescriptorProto, field: Field, name: str) -> str:
        said = self._comment(f"{name}.{field.name}").replace("\n", " ").replace("|", "\\|")
        return f"| {field.number} | `{field.name}` | {self._type(message, field)} | {said} |"

    def _type(self, message: DescriptorProto, field: Field) -> str:
        entry = next((one for one in message.nested_type if _is_entry(one, field)), None)
        if entry is not None:
            return f"map of {self._value(entry.field[0])} to {self._value(entry.field[1])}"
        if field.proto3_optional:
            return f"optional {self._value(field)}"
        if field.HasField("oneof_index"):
            return f"one of `{message.oneof_decl[field.oneof_index].name}`: {self._value(field)}"
        return f"list of {self._value(field)}" if field.label == Field.LABEL_REPEATED else self._value(field)

    def _value(self, field: Field) -> str:
        scalar = Field.Type.Name(field.type).removeprefix("TYPE_").lower()
        return self._link(field.type_name) if field.type_name else scalar

    def _link(self, type_name: str) -> str:
        name = type_name.removeprefix(".")
        local = name.removeprefix(f"{self._file.package}.")
        if local != name:
            return f"[{local}](#{_anchor(local)})"
        match = re.fullmatch(r"(ranktrail\.\w+\.v\d+)\.(.+)", name)
        return f"[{match[2]}]({match[1]}.md#{_anchor(match[2])})" if match else f"`{name}`"

    def _enum(self, enum: EnumDescriptorProto, scope: str) -> Iterator[str]:
        name = scope + enum.name
        yield f"### {name}"
        yield self._comment(name)
        rows = ["| | value | |", "|---|---|---|"]
        for value in enum.value:
            said = self._comment(f"{name}.{value.name}").replace("\n", " ").replace("|", "\\|")
            rows.append(f"| {value.number} | `{value.name}` | {said} |")
        yield "\n".join(rows)


def _is_entry(nested: DescriptorProto, field: Field) -> bool:
    return nested.options.map_entry and field.type_name.endswith(f".{nested.name}")


def _anchor(heading: str) -> str:
    return heading.replace(".", "").lower()


def _safe(text: str) -> str:
    """Return a comment that Markdown shows as it is written."""
    parts = _BESIDE_CODE.split(text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*")

"""The unary methods of the contracts as OpenAPI 3.1: the Connect protocol's unary form with proto JSON."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from protos.comments import comments

CONTRACT_VERSION = "v1.0"
Field = FieldDescriptorProto
Schema = dict[str, Any]
_INT64: Schema = {"type": ["string", "integer"], "format": "int64", "pattern": "^-?[0-9]{1,19}$"}
_DOUBLE: Schema = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
_SCALARS: dict[int, Schema] = {
    Field.TYPE_STRING: {"type": "string"},
    Field.TYPE_BYTES: {"type": "string", "contentEncoding": "base64"},
    Field.TYPE_BOOL: {"type": "boolean"},
    Field.TYPE_INT32: {"type": "integer", "format": "int32"},
    Field.TYPE_INT64: _INT64,
    Field.TYPE_DOUBLE: _DOUBLE,
}
_WELL_KNOWN: dict[str, Schema] = {".google.protobuf.Timestamp": {"type": "string", "format": "date-time"}}
_CODES = [
    "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists", "permission_denied",
    "resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented", "internal", "unavailable",
    "data_loss", "unauthenticated",
]  # fmt: skip
_ERROR: Schema = {
    "type": "object",
    "description": "What a method refuses with; `details` holds one google.rpc.ErrorInfo, whose reason decides.",
    "required": ["code"],
    "properties": {
        "code": {"enum": _CODES},
        "message": {"type": "string"},
        "details": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "value"],
                "properties": {
                    "type": {"type": "string", "examples": ["google.rpc.ErrorInfo"]},
                    "value": {"type": "string", "contentEncoding": "base64"},
                    "debug": {"description": "The same as JSON."},
                },
            },
        },
    },
}
_VERSION_HEADER: Schema = {
    "name": "Connect-Protocol-Version",
    "in": "header",
    "schema": {"const": "1"},
    "description": "Sent by clients of the Connect protocol.",
}


def openapi_json(files: Sequence[FileDescriptorProto]) -> str:
    """Return the document as indented JSON."""
    return json.dumps(_document(files), indent=1, ensure_ascii=False) + "\n"


def _document(files: Sequence[FileDescriptorProto]) -> Schema:
    said = {name: text for file in files for name, text in comments(file).items()}
    schemas = {name: schema for file in files for name, schema in _schemas(file, said)}
    paths = {path: item for file in files for path, item in _paths(file, said)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ranktrail",
            "version": CONTRACT_VERSION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {"ConnectProtocolVersion": _VERSION_HEADER},
            "schemas": {**_used(schemas, json.dumps(paths)), "connect.Error": _ERROR},
        },
    }


def _paths(file: FileDescriptorProto, said: dict[str, str]) -> Iterator[tuple[str, Schema]]:
    for service in file.service:
        name = f"{file.package}.{service.name}"
        for method in service.method:
            if not method.client_streaming and not method.server_streaming:
                yield (
                    f"/{name}/{method.name}",
                    {
                        "post": {
                            "operationId": f"{service.name}.{method.name}",
                            "tags": [service.name],
                            "description": said[f"{name}.{method.name}"],
                            "parameters": [{"$ref": "#/components/parameters/ConnectProtocolVersion"}],
                            "requestBody": {"required": True, "content": _json(_reference(method.input_type))},
                            "responses": {
                                "200": {"description": "The answer.", "content": _json(_reference(method.output_type))},
                                "default": {"description": "Refused.", "content": _json(_reference("connect.Error"))},
                            },
                        }
                    },
                )


def _schemas(file: FileDescriptorProto, said: dict[str, str]) -> Iterator[tuple[str, Schema]]:
    for enum in file.enum_type:
        yield _enum(enum, file.package, said)
    for message in file.message_type:
        yield from _messages(message, file.package, said)


def _messages(message: DescriptorProto, scope: str, said: dict[str, str]) -> Iterator[tuple[str, Schema]]:
    name = f"{scope}.{message.name}"
    properties = {
        field.json_name: {**_property(message, field), "description": said[f"{name}.{field.name}"]}
        for field in message.field
    }
    yield name, {"type": "object", "description": said[name], "properties": properties}
    for enum in message.enum_type:
        yield _enum(enum, name, said)
    for nested in message.nested_type:
        yield from _messages(nested, name, said)


def _enum(enum: EnumDescriptorProto, scope: str, said: dict[str, str]) -> tuple[str, Schema]:
    name = f"{scope}.{enum.name}"
    words = [value.name for value in enum.value]
    # A number is what this release has no word for.
    return name, {"description": said[name], "anyOf": [{"enum": words}, {"type": "integer", "format": "int32"}]}


def _property(message: DescriptorProto, field: Field) -> Schema:
    for nested in message.nested_type:
        if nested.options.map_entry and field.type_name.endswith(f".{nested.name}"):
            return {"type": "object", "additionalProperties": _value(nested.field[1])}
    if field.label == Field.LABEL_REPEATED:
        return {"type": "array", "items": _value(field)}
    return dict(_value(field))


def _value(field: Field) -> Schema:
    if field.type_name:
        return _WELL_KNOWN.get(field.type_name) or _reference(field.type_name)
    return _SCALARS[field.type]


def _reference(type_name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{type_name.removeprefix('.')}"}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _used(schemas: dict[str, Schema], text: str) -> dict[str, Schema]:
    """Return the schemas that a JSON text refers to, and those that they refer to, by name."""
    used: dict[str, Schema] = {}
    while new := {name for name in schemas.keys() - used.keys() if f'schemas/{name}"' in text}:
        used |= {name: schemas[name] for name in new}
        text = json.dumps(used)
    return dict(sorted(used.items()))

"""The reference is what the contracts and the commands say now."""

import json
import re
from pathlib import Path

import pytest
from google.protobuf.descriptor import MethodDescriptor
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from history_service.bootstrap import CONTRACT_VERSION
from protos import openapi
from protos.descriptor_set import descriptor_set
from protos.reference import TARGET, pages
from ranktrail_cli.reference import reference
from tests.descriptors import ROOT, contract_files, contract_methods, reachable
from tests.golden.make_messages import MESSAGES

API = {path.name: path.read_text("utf-8") for path in TARGET.iterdir()}
DOCUMENT = json.loads(API["openapi.json"])
UNARY = [method for method in contract_methods() if not method.client_streaming and not method.server_streaming]


def test_the_api_reference_is_current() -> None:
    assert pages(descriptor_set()) == API, "run make protos"


def test_the_command_line_reference_is_current_and_names_no_folder_of_this_machine() -> None:
    committed = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert reference() == committed, "run make protos"
    assert str(Path.home()) not in committed
    assert str(ROOT) not in committed


def test_every_link_within_the_api_reference_leads_to_a_heading() -> None:
    headings = {
        name: {re.sub("[^a-z0-9 -]", "", line.lower()).strip() for line in re.findall("^#+ (.*)", text, re.MULTILINE)}
        for name, text in API.items()
    }
    for name, text in API.items():
        for file, anchor in re.findall(r"\]\(([\w.]*)#(\w+)\)", text):
            assert anchor in headings[file or name], (name, file, anchor)


def test_every_message_field_method_and_enum_value_stands_in_the_reference() -> None:
    for file in contract_files():
        page = API[f"{file.package}.md"]
        for message in file.message_types_by_name.values():
            assert f"### {message.name}\n" in page
            assert all(f"| {field.number} | `{field.name}` |" in page for field in message.fields)
        for enum in file.enum_types_by_name.values():
            assert all(f"| {value.number} | `{value.name}` |" in page for value in enum.values)
        for service in file.services_by_name.values():
            assert all(f"### {method.name}\n" in page for method in service.methods)


def test_openapi_is_valid() -> None:
    validate(DOCUMENT)
    assert (DOCUMENT["openapi"], DOCUMENT["info"]["version"]) == ("3.1.0", CONTRACT_VERSION)
    assert openapi.CONTRACT_VERSION == CONTRACT_VERSION


def test_openapi_has_every_unary_method_and_no_stream() -> None:
    assert set(DOCUMENT["paths"]) == {f"/{method.containing_service.full_name}/{method.name}" for method in UNARY}


@pytest.mark.parametrize("method", UNARY, ids=lambda method: method.full_name)
def test_openapi_has_every_message_and_field_that_a_unary_method_speaks_of(method: MethodDescriptor) -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for root in (method.input_type, method.output_type):
        for message in reachable(root):
            if message.full_name.startswith("ranktrail.") and not message.GetOptions().map_entry:
                names = {field.json_name for field in message.fields}
                assert set(schemas[message.full_name]["properties"]) == names


@pytest.mark.parametrize("method", UNARY, ids=lambda method: method.full_name)
def test_openapi_admits_every_golden_message_as_json(method: MethodDescriptor) -> None:
    for message in (method.input_type, method.output_type):
        schema = {"$ref": f"#/components/schemas/{message.full_name}", "components": DOCUMENT["components"]}
        validator = Draft202012Validator(schema)
        for line in (MESSAGES / f"{message.full_name}.jsonl").read_text("ascii").splitlines():
            validator.validate(json.loads(line))
        assert not validator.is_valid({field.json_name: [[]] for field in message.fields} or [])

"""The Swift package, as far as a machine without Swift can tell: it parses, and calls what its generator writes."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_swift
from google.protobuf.descriptor import MethodDescriptor
from tree_sitter import Language, Node, Parser

from protos.descriptor_set import descriptor_set
from protos.generate_swift import TYPES, swift_type, types_table, write_stubs
from tests.descriptors import PROTOS, ROOT, contract_methods, rpc_messages

PACKAGE = ROOT / "clients" / "swift"
SOURCES = PACKAGE / "Sources" / "RanktrailClient"
SWIFT_FILES = [path for path in PACKAGE.rglob("*.swift") if ".build" not in path.parts]
PARSER = Parser(Language(tree_sitter_swift.language()))
CALLED = [
    "ActivateMemory",
    "ListRetrievalRuns",
    "GetRetrievalRun",
    "ClearRetrievalRuns",
    "CreateEvaluationCase",
    "ReplaceEvaluationJudgments",
    "ExportEvaluationSet",
    "WatchRetrievalRuns",
]
METHODS = [next(method for method in contract_methods() if method.name == name) for name in CALLED]
CLIENTS = {"RankerService": "ranker", "HistoryService": "history", "EvaluationService": "evaluation"}


def _faults(node: Node) -> Iterator[Node]:
    if node.is_error or node.is_missing:
        yield node
    for child in node.children:
        yield from _faults(child)


@pytest.mark.parametrize("path", SWIFT_FILES, ids=lambda path: path.name)
def test_every_source_is_swift(path: Path) -> None:
    assert [fault.start_point for fault in _faults(PARSER.parse(path.read_bytes()).root_node)] == []


def test_the_manifest_uses_the_build_plugin_and_every_target_is_there() -> None:
    manifest = (PACKAGE / "Package.swift").read_text("utf-8")
    assert manifest.startswith("// swift-tools-version: 6.")
    for part in (
        "platforms: [.macOS(.v15)]",
        '.plugin(name: "GRPCProtobufGenerator", package: "grpc-swift-protobuf")',
        '.product(name: "GRPCCore", package: "grpc-swift-2")',
        '.product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport")',
        '.product(name: "GRPCProtobuf", package: "grpc-swift-protobuf")',
    ):
        assert part in manifest
    packages = set(re.findall(r'package: "([\w-]+)"', manifest))
    assert packages == set(re.findall(r'\.package\(url: "[^"]*/([\w-]+)\.git", from: "\d+\.\d+\.\d+"\)', manifest))
    targets = re.findall(r'\.(target|testTarget)\(\s*name: "(\w+)"', manifest)
    assert [(PACKAGE / ("Sources" if kind == "target" else "Tests") / name).is_dir() for kind, name in targets] == [
        True,
        True,
    ]


def test_the_generator_is_configured_above_the_contracts_themselves() -> None:
    configuration = json.loads((SOURCES / "grpc-swift-proto-generator-config.json").read_text("utf-8"))
    assert configuration == {
        "generate": {"clients": True, "servers": False, "messages": True},
        "generatedSource": {"accessLevel": "public"},
    }
    assert (SOURCES / "ranktrail").is_symlink()
    assert (SOURCES / "ranktrail").resolve() == PROTOS / "ranktrail"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_client_calls_the_method_that_is_generated_with_its_messages(method: MethodDescriptor) -> None:
    source = (SOURCES / "RanktrailClient.swift").read_text("utf-8")
    name = method.name[0].lower() + method.name[1:]
    client = CLIENTS[method.containing_service.name]
    assert f"{client}: {swift_type(method.containing_service.full_name)}.Client<Transport>" in source
    assert f"public func {name}(\n    _ request: {swift_type(method.input_type.full_name)}," in source
    assert f"try await {client}.{name}(request, options: options)" in source
    if not method.server_streaming:
        assert f") async throws -> {swift_type(method.output_type.full_name)} {{" in source


def test_every_type_that_the_sources_name_is_in_the_contracts() -> None:
    known = {swift_type(message.full_name) for message in rpc_messages()}
    known |= {swift_type(method.containing_service.full_name) for method in contract_methods()}
    for path in SWIFT_FILES:
        assert set(re.findall(r"Ranktrail_\w+_V\d+_\w+", path.read_text("utf-8"))) <= known


def test_the_tests_of_the_package_know_every_message_of_every_rpc() -> None:
    assert TYPES.read_text("utf-8") == types_table(descriptor_set().file), "run make protos"


def test_generating_without_the_plugins_says_which_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="protoc-gen-swift and protoc-gen-grpc-swift-2 are not on the PATH"):
        write_stubs(tmp_path / "stubs")
    assert not (tmp_path / "stubs").exists()


@pytest.mark.skipif(shutil.which("swift") is None, reason="Swift is not installed")
def test_swift_reads_the_manifest() -> None:
    result = subprocess.run(["swift", "package", "dump-package"], cwd=PACKAGE, capture_output=True, check=True)  # noqa: S607
    assert json.loads(result.stdout)["name"] == "ranktrail-client"

"""What Swift needs of the contracts: the stubs, and the table of types for the tests of the Swift package.

Run from the project's root: `python -m protos.generate_swift types` writes the table; `python -m protos.generate_swift
stubs TARGET` writes the stubs and needs `protoc-gen-swift` and `protoc-gen-grpc-swift-2` on the PATH.
"""

import shutil
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_tools import protoc

from protos.descriptor_set import PROTOS, descriptor_set

TYPES = PROTOS.parent / "clients" / "swift" / "Tests" / "RanktrailClientTests" / "GoldenTypes.swift"
PLUGINS = ("protoc-gen-swift", "protoc-gen-grpc-swift-2")
_HEAD = """// Made by `make protos` from the contracts; never edited.
import RanktrailClient
import SwiftProtobuf

/// Every request and response type by its name in the contracts.
let goldenTypes: [String: any SwiftProtobuf.Message.Type] = [
"""


def swift_type(full_name: str) -> str:
    """Return the name that Swift's generator gives a message of a package with a version."""
    *package, name = full_name.split(".")
    return "".join(f"{part[:1].upper()}{part[1:]}_" for part in package) + name


def types_table(contracts: Iterable[FileDescriptorProto]) -> str:
    """Return the Swift source of the table."""
    methods = [method for file in contracts for service in file.service for method in service.method]
    names = sorted({name.lstrip(".") for method in methods for name in (method.input_type, method.output_type)})
    return _HEAD + "".join(f'  "{name}": {swift_type(name)}.self,\n' for name in names) + "]\n"


def write_stubs(target: Path) -> None:
    """Write the stubs below `target`; raise SystemExit when a plugin is missing or a contract does not compile."""
    missing = [plugin for plugin in PLUGINS if shutil.which(plugin) is None]
    if missing:
        raise SystemExit(f"{' and '.join(missing)} are not on the PATH: build them from grpc-swift-protobuf 2.x")
    target.mkdir(parents=True, exist_ok=True)
    sources = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "ranktrail").rglob("*.proto"))
    options = "Visibility=Public,FileNaming=PathToUnderscores"
    outputs = [f"--swift_out={options}:{target}", f"--grpc-swift-2_out={options},Server=false:{target}"]
    includes = [f"-I{PROTOS}", f"-I{files('grpc_tools') / '_proto'}"]
    if protoc.main(["protoc", *includes, *outputs, *sources]) != 0:
        raise SystemExit(1)


if __name__ == "__main__":
    if sys.argv[1:] == ["types"]:
        TYPES.write_text(types_table(descriptor_set().file), "utf-8")
    else:
        write_stubs(Path(sys.argv[2]))

"""The contracts as one descriptor set, with their comments."""

import tempfile
from importlib.resources import files
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

PROTOS = Path(__file__).resolve().parent


def descriptor_set(protos: Path = PROTOS) -> FileDescriptorSet:
    """Compile every contract with its comments and imports; raise SystemExit when one does not compile."""
    sources = sorted(str(path.relative_to(protos)) for path in (protos / "ranktrail").rglob("*.proto"))
    include = files("grpc_tools") / "_proto"
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "set"
        flags = ["--include_imports", "--include_source_info", f"--descriptor_set_out={target}"]
        code = protoc.main(["protoc", f"-I{protos}", f"-I{include}", *flags, *sources])
        if code != 0:
            raise SystemExit(code)
        return FileDescriptorSet.FromString(target.read_bytes())

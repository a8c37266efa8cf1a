"""Generates the Python stubs of every contract into protos/gen/python."""

import shutil
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

PROTOS = Path(__file__).resolve().parent


def generate(target: Path) -> None:
    """Write the stubs below `target`, which is emptied first; raise SystemExit when a contract does not compile."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    sources = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "ranktrail").rglob("*.proto"))
    include = files("grpc_tools") / "_proto"
    plugins = [
        f"--plugin={name}={Path(sys.executable).parent / name}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")
    ]
    outputs = [f"--{kind}_out={target}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    code = protoc.main(["protoc", f"-I{PROTOS}", f"-I{include}", *plugins, *outputs, *sources])
    if code != 0:
        raise SystemExit(code)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else PROTOS / "gen" / "python")

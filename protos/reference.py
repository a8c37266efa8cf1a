"""Writes docs/api: a page a package, an index, and openapi.json, all from the contracts and their comments.

Run from the project's root: `python -m protos.reference [TARGET]`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from protos.comments import comments, file_comment
from protos.descriptor_set import PROTOS, descriptor_set
from protos.openapi import openapi_json
from protos.page import Page

TARGET = PROTOS.parent / "docs" / "api"
_NOTE = "<!-- Made by `make protos` from the contracts; never edited. -->\n\n"


def pages(contracts: FileDescriptorSet) -> dict[str, str]:
    """Return the text of every file of docs/api by its name."""
    files = [file for file in contracts.file if file.package.startswith("ranktrail.")]
    texts = {f"{file.package}.md": _NOTE + Page(file).text() for file in files}
    return {"README.md": _NOTE + _index(files), **texts, "openapi.json": openapi_json(files)}


def _index(files: list[FileDescriptorProto]) -> str:
    lines = [
        "# The API",
        "",
        "Every message, method and error of the [contracts](../../protos/README.md), a page a package. As JSON over",
        "HTTP, where that is served, a method without a stream is `POST /<package.Service>/<Method>`:",
        "[openapi.json](openapi.json).",
    ]
    for file in files:
        lines += ["", f"## [{file.package}]({file.package}.md)", "", file_comment(file).split("\n")[0]]
        lines += ["", "| method | |", "|---|---|"] if file.service else []
        lines += _methods(file)
    return "\n".join(lines) + "\n"


def _methods(file: FileDescriptorProto) -> Iterator[str]:
    said = comments(file)
    for service in file.service:
        for method in service.method:
            sentence = said[f"{file.package}.{service.name}.{method.name}"].partition(". ")[0].rstrip(".")
            yield f"| [{method.name}]({file.package}.md#{method.name.lower()}) | {sentence} |"


def write(target: Path) -> None:
    """Write every file below `target`, and remove those that no package has any more."""
    target.mkdir(parents=True, exist_ok=True)
    texts = pages(descriptor_set())
    for path in target.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (target / name).write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)

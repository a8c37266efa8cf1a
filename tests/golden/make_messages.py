"""Writes the golden messages: every instance of every RPC message as binary, as proto JSON and as text.

Run from the project's root: `python -m tests.golden.make_messages [TARGET]`.
"""

import json
import shutil
import sys
from pathlib import Path

from google.protobuf import json_format, text_format

from tests.descriptors import rpc_messages
from tests.golden.message_instances import Instance, instances

MESSAGES = Path(__file__).resolve().parent / "messages"


def make(target: Path) -> None:
    """Write every golden file below `target`, whose README stays and whose other files go first."""
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        if path.name != "README.md":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    index = {}
    for descriptor in rpc_messages():
        made = list(instances(descriptor))
        index[descriptor.full_name] = [instance.name for instance in made]
        base = target / descriptor.full_name
        _file(base, ".binpb").write_bytes(b"".join(map(delimited, made)))
        _file(base, ".jsonl").write_text("".join(map(json_line, made)), "ascii")
        _file(base, ".txtpb").write_text("\n".join(map(text_block, made)), "ascii")
    (target / "index.json").write_text(json.dumps(index, indent=2) + "\n", "ascii")


def delimited(instance: Instance) -> bytes:
    """Return the message's size as a varint, then its bytes."""
    raw = instance.message.SerializeToString(deterministic=True)
    return _varint(len(raw)) + raw


def _varint(number: int) -> bytes:
    more, low = divmod(number, 128)
    return bytes([low | 128]) + _varint(more) if more else bytes([low])


def json_line(instance: Instance) -> str:
    """Return the message as proto JSON on one line; unknown fields have no JSON."""
    return json.dumps(json_format.MessageToDict(instance.message), sort_keys=True) + "\n"


def text_block(instance: Instance) -> str:
    """Return the message in the text format below a comment with its name; unknown fields are left out."""
    return f"# {instance.name}\n{text_format.MessageToString(instance.message, as_utf8=False)}"


def _file(base: Path, suffix: str) -> Path:
    return base.with_name(base.name + suffix)


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES)

"""Texts and files that a person gives, checked before anything is done with them."""

from pathlib import Path
from typing import Any

import click

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail.trace.v1.trace_pb2 import Layer
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_client.message_json import enum_number, enum_words

LAYERS = enum_words(Layer.DESCRIPTOR)
RUN_STATES = enum_words(RetrievalRun.State.DESCRIPTOR)


class TextField(click.ParamType[str]):
    """A text that can travel; bytes that are not UTF-8 reach Python as surrogates, which no message holds."""

    name = "text"

    def __init__(self, field: str, *, may_be_blank: bool = True) -> None:
        self.field = field
        self.may_be_blank = may_be_blank

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """Return the text; raise CommandFailed when it has a surrogate, or is blank and may not be."""
        text = str(value)
        if not self.may_be_blank and not text.strip():
            raise CommandFailed(f"{self.field} is blank: give it a text, or leave it out", Exit.REFUSED)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise CommandFailed(f"{self.field} is not UTF-8 text: write it in UTF-8", Exit.REFUSED) from error
        return text


def layer_number(word: str) -> Layer.ValueType:
    """Return a layer by its word; raise KeyError for any other text."""
    return Layer.ValueType(enum_number(Layer.DESCRIPTOR, word))


def read_bounded(path: Path, field: str, limit: int) -> bytes:
    """Return a file's bytes; raise CommandFailed when it cannot be read or has more than `limit` bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise CommandFailed(
            f"{field} {str(path)!r} cannot be read ({reason_of(error)}): name a file", Exit.REFUSED
        ) from error
    if len(content) > limit:
        raise CommandFailed(f"{field} {str(path)!r} has more than {limit} bytes: name another file", Exit.REFUSED)
    return content


def reason_of(error: OSError) -> str:
    """Return why a file operation failed, in words."""
    return (error.strerror or type(error).__name__).lower()

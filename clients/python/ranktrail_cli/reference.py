"""The reference of the command line as Markdown: what every command says of itself.

Run from the project's root: `python -m ranktrail_cli.reference docs/cli.md`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ranktrail_cli.root import cli

WIDTH = 100
_BEGIN = """<!-- Made by `make protos` from the commands; never edited. -->

# The command line

What `--help` says of every command. `ranktrail completion` prints a script that completes commands, options and names.
"""


def reference() -> str:
    """Return the text of docs/cli.md."""
    return _BEGIN + "".join(
        _section(context) for context in _commands(click.Context(cli, info_name="ranktrail", **cli.context_settings))
    )


def _commands(context: click.Context) -> Iterator[click.Context]:
    """Yield a command and those below it, in the order of their help."""
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _commands(click.Context(command, context, name, **command.context_settings))


def _section(context: click.Context) -> str:
    context.terminal_width = context.max_content_width = WIDTH
    help_text = context.command.get_help(context).rstrip()
    return f"\n## {context.command_path}\n\n```text\n{help_text}\n```\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), "utf-8")

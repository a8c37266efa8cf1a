"""What a command prints: results on standard output, remarks and progress on standard error.

Text that comes from a memory or a service passes through safe_text on its way, so that none of it steers the terminal.
"""

import sys
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ranktrail_client.message_json import dumps
from ranktrail_client.safe_text import safe_block, safe_line

# A table on a narrow terminal keeps its numbers; one in a file or a pipe keeps its names whole.
NARROWEST_TABLE = 100
TABLE_IN_A_FILE = 180


class Output:
    """Prints as text, or as JSON alone."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def document(self, value: Any) -> None:
        """Print a JSON document."""
        _write(dumps(value, indent=2, ascii_only=_is_ascii_only()))

    def json_line(self, value: Any) -> None:
        """Print a JSON document on one line."""
        _write(dumps(value, ascii_only=_is_ascii_only()))

    def line(self, text: str = "") -> None:
        """Print one line of text."""
        if not self.as_json:
            _write(safe_line(text))

    def block(self, text: str) -> None:
        """Print a text with the line feeds that it has."""
        if not self.as_json:
            _write(safe_block(text))

    def table(self, table: Table) -> None:
        """Print a table."""
        if not self.as_json:
            _console().print(table)

    def remark(self, text: str) -> None:
        """Print one line to standard error."""
        sys.stderr.write(safe_line(text) + "\n")


def new_table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return a table whose `numbers` columns are never cut; the others fold."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        is_number = column in numbers
        table.add_column(column, overflow="fold", no_wrap=is_number, justify="right" if is_number else "left")
    return table


def add_row(table: Table, *cells: str, style: str | None = None) -> None:
    """Add a row of plain text."""
    table.add_row(*(Text(safe_line(cell)) for cell in cells), style=style)


def _write(text: str) -> None:
    # click.echo would write UTF-8 to a stream that says it is ASCII, and rich would not.
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _is_ascii_only() -> bool:
    return "utf" not in (sys.stdout.encoding or "").lower()


class _PlainConsole(Console):
    """A console that leaves it to the command what a closed pipe means; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError."""
        raise BrokenPipeError


def _console() -> Console:
    console = _PlainConsole(markup=False, highlight=False, emoji=False)
    console.width = max(console.width, NARROWEST_TABLE) if console.is_terminal else TABLE_IN_A_FILE
    return console

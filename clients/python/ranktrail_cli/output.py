"""What a command prints: results on standard output, remarks and progress on standard error.

Text that comes from a memory or a service passes through safe_text on its way, so that none of it steers the terminal.
"""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.tables import NARROWEST_TERMINAL, Table
from ranktrail_client.message_json import dumps
from ranktrail_client.safe_text import safe_block, safe_line


class NotPrinted(CommandFailed):
    """Standard output does not take what a command says; whatever it was given before may not have reached anybody."""


class Output:
    """Prints as text, or as JSON alone. Whatever a method printed has been flushed when it returns.

    Raises BrokenPipeError when the reader has gone, and NotPrinted when standard output takes nothing.
    """

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

    def note(self, text: str) -> None:
        """Print a sentence that a terminal breaks between words."""
        if not self.as_json:
            self._styled([Text(safe_line(text))], _terminal_width())

    def table(self, table: Table) -> None:
        """Print a table: on a terminal never wider than that, anywhere else with each row on one line."""
        if not self.as_json:
            width = _terminal_width()
            self._styled(table.lines(width, rule="-" if _is_ascii_only() else "─"), width)

    @staticmethod
    def bar(share: float, cells: int) -> str:
        """Return a bar of `cells` for 1, finer than a cell where standard output is not ASCII alone."""
        eighths: int = round(min(max(share, 0.0), 1.0) * cells * 8)
        if _is_ascii_only():
            return "#" * (eighths // 8)
        return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()

    def remark(self, text: str) -> None:
        """Print one line to standard error."""
        sys.stderr.write(safe_line(text) + "\n")

    @staticmethod
    def _styled(lines: list[Text], width: int | None) -> None:
        if width is None:
            _write("\n".join(line.plain for line in lines))
            return
        console = _PlainConsole(markup=False, highlight=False, emoji=False, width=width)
        try:
            for line in lines:
                console.print(line, overflow="fold")
        except OSError as error:
            raise _as_not_printed(error) from error
        flush_output()


def flush_output() -> None:
    """Send what is buffered on its way; raise BrokenPipeError or NotPrinted when it has none."""
    _write("", end="")


def _write(text: str, end: str = "\n") -> None:
    # click.echo would write UTF-8 to a stream that says it is ASCII, and rich would not.
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except OSError as error:
        raise _as_not_printed(error) from error


def _as_not_printed(error: OSError) -> Exception:
    """Return the error itself when the reader has gone, else what a command ends with."""
    if isinstance(error, BrokenPipeError):
        return error
    reason = (error.strerror or type(error).__name__).lower()
    return NotPrinted(f"standard output cannot be written ({reason}): give it another place to go", Exit.INCOMPLETE)


def _is_ascii_only() -> bool:
    return "utf" not in (sys.stdout.encoding or "").lower()


class _PlainConsole(Console):
    """A console that leaves it to the command what a closed pipe means; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError."""
        raise BrokenPipeError


def _terminal_width() -> int | None:
    console = Console()
    return max(console.width, NARROWEST_TERMINAL) if console.is_terminal else None

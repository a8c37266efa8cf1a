"""Tables of plain text that fit a terminal: what does not fit beside the other columns goes on a line below its row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from ranktrail_client.safe_text import safe_line

NARROWEST_TERMINAL = 80
_GAP = "  "
_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Where the terminal is too narrow, those of `yields` 1 go below their row first, then those of 2.

    A column of `yields` 0 stays where it is.
    """

    name: str
    is_number: bool = False
    yields: int = 0


@dataclass(slots=True)
class Table:
    """Rows of cells below a head. No cell is ever cut or folded beside another one."""

    columns: Sequence[Column]
    _rows: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def add(self, *cells: str, style: str = "") -> None:
        """Add a row of as many cells as there are columns."""
        self._rows.append((tuple(safe_line(cell) for cell in cells), style))

    @property
    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not self._rows

    def lines(self, width: int | None, rule: str = "─") -> list[Text]:
        """Return head, a line of `rule`, and rows for a terminal of `width` cells; None is one without an edge.

        One cell below a row can still be wider than the terminal, which then breaks it.
        """
        widths = self._widths()
        level = self._level(widths, width)
        beside = [at for at, column in enumerate(self.columns) if not 0 < column.yields <= level]
        head = self._beside(beside, widths, [column.name for column in self.columns])
        return [Text(head, "bold"), Text(rule * _total(widths, beside)), *self._body(beside, widths, width)]

    def _widths(self) -> list[int]:
        return [
            max(cell_len(column.name), *(cell_len(row[at]) for row, _ in self._rows), 0)
            for at, column in enumerate(self.columns)
        ]

    def _level(self, widths: Sequence[int], width: int | None) -> int:
        last = max(column.yields for column in self.columns)
        for level in range(last):
            beside = [at for at, column in enumerate(self.columns) if not 0 < column.yields <= level]
            if width is None or _total(widths, beside) <= width:
                return level
        return 0 if width is None else last

    def _body(self, beside: Sequence[int], widths: Sequence[int], width: int | None) -> Iterator[Text]:
        below = [at for at in range(len(self.columns)) if at not in beside]
        for row, style in self._rows:
            yield Text(self._beside(beside, widths, row), style)
            for line in _packed([f"{self.columns[at].name} {row[at]}" for at in below if row[at]], width):
                yield Text(_INDENT + line, style)

    def _beside(self, beside: Sequence[int], widths: Sequence[int], cells: Sequence[str]) -> str:
        padded = ((cells[at], " " * (widths[at] - cell_len(cells[at])), self.columns[at].is_number) for at in beside)
        return _GAP.join(space + cell if is_number else cell + space for cell, space, is_number in padded).rstrip()


def _total(widths: Sequence[int], beside: Sequence[int]) -> int:
    return sum(widths[at] for at in beside) + len(_GAP) * (len(beside) - 1)


def _packed(parts: Sequence[str], width: int | None) -> list[str]:
    """Return the parts on as few indented lines as they fit."""
    lines: list[str] = []
    for part in parts:
        if lines and (width is None or cell_len(_INDENT + lines[-1] + _GAP + part) <= width):
            lines[-1] += _GAP + part
        else:
            lines.append(part)
    return lines

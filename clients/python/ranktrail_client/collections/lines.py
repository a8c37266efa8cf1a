"""The lines of a collection's files, each knowing where it stands."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ranktrail_client.errors import Refused


class CollectionInvalid(Refused):
    """A file of a test collection is wrong; the metadata has `file` and, where known, `line`, from 1, and `field`."""

    def __init__(self, file: Path, problem: str, *, line: int | None = None, field: str | None = None) -> None:
        place = f"{file}" if line is None else f"{file}, line {line}"
        known = {"file": str(file), "line": line, "field": field}
        super().__init__(
            f"{place}: {problem}" if field is None else f"{place}: {field} {problem}",
            metadata={name: str(value) for name, value in known.items() if value is not None},
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, with its end; `number` is one-based."""

    file: Path
    number: int
    text: str

    def wrong(self, field: str, problem: str) -> CollectionInvalid:
        """Return the error that names this line and one of its fields."""
        return CollectionInvalid(self.file, problem, line=self.number, field=field)


def lines_of(file: Path) -> Iterator[Line]:
    """Yield the lines of a file, split at line feeds only.

    Raises CollectionInvalid for a file that cannot be read, and for a line that is not UTF-8.
    """
    try:
        with file.open("rb") as opened:
            for number, content in enumerate(opened, start=1):
                yield Line(file, number, _decoded(file, number, content))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise CollectionInvalid(file, f"cannot be read ({reason}): name a folder that holds it") from error


def _decoded(file: Path, number: int, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} is not UTF-8: save the file as UTF-8"
        raise CollectionInvalid(file, problem, line=number) from error

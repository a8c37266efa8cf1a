"""How a service logs: one line a record, and nothing in it that a caller or a memory brought."""

import logging
import re
import traceback
from types import TracebackType
from typing import TypeAlias

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
QUOTING = (ValueError, TypeError, LookupError, AssertionError)
"""Errors whose texts quote what they were given: a query, a body, a key."""
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
ExceptionParts: TypeAlias = "tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]"


class LineFormatter(logging.Formatter):
    """Escapes what would begin another line or steer a terminal, and sets tracebacks apart by a bar.

    Of an error that quotes what it was given, the traceback says the kind and the place alone.
    """

    def __init__(self) -> None:
        super().__init__(FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the record on one line."""
        return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], super().formatMessage(record))

    def formatException(self, ei: ExceptionParts) -> str:  # noqa: N802 - logging's name
        """Return a traceback, each line behind a bar."""
        if ei[1] is None:
            return ""
        lines = "".join(_chain(ei[1])).splitlines()
        return "\n".join(f"  | {_CONTROLS.sub(lambda found: ascii(found[0])[1:-1], line)}" for line in lines)


def log_to_standard_error() -> None:
    """Log what a person should know from now on, and nothing else."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _chain(error: BaseException) -> list[str]:
    """Return the lines of an error and of those that caused it, the first cause first."""
    found: list[list[str]] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        found.append([*traceback.format_tb(current.__traceback__), _said(current) + "\n"])
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return [line for part in reversed(found) for line in part]


def _said(error: BaseException) -> str:
    name = type(error).__qualname__
    return name if isinstance(error, QUOTING) or not str(error) else f"{name}: {error}"

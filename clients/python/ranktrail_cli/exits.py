"""How a command ends: its exit codes, the same everywhere, and what maps to each."""

from enum import IntEnum

from ranktrail_client.errors import Conflict, NotFound, RanktrailError, Refused, ServiceUnreachable


class Exit(IntEnum):
    """Exit codes."""

    DONE = 0
    NEGATIVE = 1
    USAGE = 2
    UNREACHABLE = 3
    CONFLICT = 4
    REFUSED = 5
    INCOMPLETE = 6
    NOT_COMPARABLE = 7
    # As a shell counts a process that a signal ended.
    INTERRUPTED = 130
    READER_GONE = 141


class CommandFailed(Exception):
    """A command cannot do what it was asked; the text is one sentence that names the field and the fix."""

    def __init__(self, message: str, exit_code: Exit) -> None:
        super().__init__(message)
        self.exit_code = exit_code


_BY_KIND: tuple[tuple[type[RanktrailError], Exit], ...] = (
    (ServiceUnreachable, Exit.UNREACHABLE),
    (Conflict, Exit.CONFLICT),
    (NotFound, Exit.REFUSED),
    (Refused, Exit.REFUSED),
)


def exit_of(error: RanktrailError) -> Exit:
    """Return the exit code of a call's error."""
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), Exit.INCOMPLETE)

"""What an evaluation refuses, as exit codes."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_evals.errors import EvalsError, NotComparable, OptionInvalid

P = ParamSpec("P")
T = TypeVar("T")

_BY_KIND: tuple[tuple[type[EvalsError], Exit], ...] = (
    (OptionInvalid, Exit.USAGE),
    (NotComparable, Exit.NOT_COMPARABLE),
)


def with_refusals(command: Callable[P, T]) -> Callable[P, T]:
    """Let `command` end with the exit code of the EvalsError that it raises."""

    @functools.wraps(command)
    def ended(*args: P.args, **options: P.kwargs) -> T:
        try:
            return command(*args, **options)
        except EvalsError as error:
            code = next((code for kind, code in _BY_KIND if isinstance(error, kind)), Exit.REFUSED)
            raise CommandFailed(str(error), code) from error

    return ended

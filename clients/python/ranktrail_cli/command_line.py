"""The command line: every way a command can end becomes one sentence and an exit code.

0 done, 1 a negative result, 2 usage, 3 a service cannot be reached, 4 conflict, 5 refused input or not found,
6 something required is unavailable or incomplete, 7 not comparable; 130 after Ctrl-C, and 141 when the reader of the
output has gone.
"""

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from ranktrail_cli.exits import CommandFailed, Exit, exit_of
from ranktrail_cli.output import NotPrinted, flush_output
from ranktrail_cli.root import cli
from ranktrail_client.errors import RanktrailError, TokenMissing
from ranktrail_client.safe_text import safe_line

PROGRAM = "ranktrail"
_COMPLETION = "_RANKTRAIL_COMPLETE"
_DEBUG = "RANKTRAIL_DEBUG"


def main(*, takes_interrupts: bool) -> NoReturn:
    """Run the command line that this process was started with; Ctrl-C raises again where it was put off for loading."""
    if takes_interrupts:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if _COMPLETION in os.environ:
        cli.main(prog_name=PROGRAM, complete_var=_COMPLETION)
    if sys.stdout is None:
        sys.exit(_fail("standard output is closed: give it a place to go, such as > /dev/null", Exit.INCOMPLETE))
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        _leave_streams()
        return Exit.READER_GONE
    except NotPrinted as error:
        code = _fail(str(error), error.exit_code)
        _leave_streams()
        return code


def _run(arguments: Sequence[str]) -> int:
    try:
        _invoke(arguments)
    except click.exceptions.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except (BrokenPipeError, NotPrinted):
        raise
    except Exception as error:
        return _fail(*_sentence_and_code(error))
    return Exit.DONE


def _sentence_and_code(error: Exception) -> tuple[str, Exit]:
    if isinstance(error, click.UsageError):
        return _usage(error), Exit.USAGE
    if isinstance(error, CommandFailed):
        return str(error), error.exit_code
    if isinstance(error, TokenMissing):
        return "the service takes no call without its token: give the --data-dir of that service", exit_of(error)
    if isinstance(error, RanktrailError):
        return _with_run(error), exit_of(error)
    return _unexpected(error), Exit.INCOMPLETE


def _usage(error: click.UsageError) -> str:
    path = PROGRAM if error.ctx is None else error.ctx.command_path
    problem = "name a command" if isinstance(error, click.exceptions.NoArgsIsHelpError) else error.format_message()
    return f"{' '.join(problem.split()).rstrip('.')}: see `{path} --help`"


def _invoke(arguments: Sequence[str]) -> None:
    with cli.make_context(PROGRAM, list(arguments)) as context:
        cli.invoke(context)
    flush_output()


def _fail(sentence: str, code: Exit) -> Exit:
    click.echo(f"{PROGRAM}: {safe_line(sentence)}", err=True)
    return code


def _with_run(error: RanktrailError) -> str:
    run_id = error.run_id
    if run_id is None or run_id in str(error):
        return str(error)
    return f"{error} (the failed Run: `{PROGRAM} runs show {run_id}`)"


def _unexpected(error: Exception) -> str:
    if os.environ.get(_DEBUG):
        traceback.print_exception(error)
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {text}: run it again with {_DEBUG}=1 for the details"


def _leave_streams() -> None:
    """Give what is still buffered a place to go, so that the interpreter's end does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())

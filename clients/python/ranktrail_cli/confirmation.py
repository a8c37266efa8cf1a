"""Questions before something that cannot be taken back."""

import sys

import click

from ranktrail_cli.session import Session
from ranktrail_client.safe_text import safe_line


def is_confirmed(session: Session, question: str, *, is_given: bool) -> bool:
    """Say whether to go on: at once where the command line said --yes, else as a person answers.

    Raises UsageError where nobody can be asked.
    """
    if is_given:
        return True
    if session.output.as_json or not sys.stdin.isatty():
        raise click.UsageError(f"nobody can be asked here whether to {question}: add --yes")
    sys.stderr.write(safe_line(f"{question}? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}

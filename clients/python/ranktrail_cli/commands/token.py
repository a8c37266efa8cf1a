"""`ranktrail token`: the token that services on TCP ask their callers for."""

import secrets

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.whole_file import whole_file
from ranktrail_client.data_directory import token_file


@click.group()
def token() -> None:
    """Replace the token of services on TCP."""


@token.command(epilog=examples("ranktrail token rotate", "ranktrail token rotate --data-dir /srv/ranktrail --json"))
@with_session
def rotate(session: Session) -> None:
    """Replace the token; services that run ask for the new one from their next call on.

    Streams that are open stay open. The diagnostics pages keep the token that they began with: start them again. The
    token itself is not printed: it is in the file, which only its owner can read.
    """
    file = token_file(session.data_dir)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_first = not file.exists()
        with whole_file(file) as draft:
            draft.write(f"{secrets.token_urlsafe(32)}\n".encode("ascii"))
    except OSError as error:
        raise CommandFailed(
            f"token file {str(file)!r} cannot be written ({error.strerror}): name your --data-dir", Exit.REFUSED
        ) from error
    if session.output.as_json:
        session.output.document({"token_file": str(file), "replaced": not is_first})
    session.output.line(f"{file} holds a new token; {'there was none' if is_first else 'the old one is refused now'}")

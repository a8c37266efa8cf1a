"""`ranktrail profiles`: the constants that rank."""

from pathlib import Path

import click

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import read_bounded
from ranktrail_cli.output import Output, add_row, new_table
from ranktrail_cli.session import Session, with_session
from ranktrail_client.message_json import message_json

MAX_PROFILE_BYTES = 65_536


@click.group(
    epilog=examples(
        "ranktrail profiles list",
        "ranktrail profiles validate mine.toml",
    )
)
def profiles() -> None:
    """List and check ranking profiles: the constants that rank."""


@profiles.command(
    "list",
    epilog=examples(
        "ranktrail profiles list",
        "ranktrail profiles list --json",
    ),
)
@with_session
def list_profiles(session: Session) -> None:
    """List the ranking profiles that the ranker knows."""
    with session.connect() as client:
        found = client.ranker.list_profiles()
    if session.output.as_json:
        session.output.document(message_json(found))
        return
    table = new_table("profile", "default", "source", "digest")
    for profile in found.profiles:
        named = profile.ranking_profile
        add_row(table, named.name, "yes" if profile.is_default else "", profile.source, named.digest)
    session.output.table(table)


@profiles.command(
    "validate",
    epilog=examples(
        "ranktrail profiles validate mine.toml",
        "ranktrail profiles validate mine.toml --json",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@with_session
def validate_profile(session: Session, file: Path) -> None:
    """Check a ranking profile's FILE without installing it; exit with 1 when it is not valid."""
    content = read_bounded(file, "profile", MAX_PROFILE_BYTES)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(f"profile {str(file)!r} is not UTF-8 text: save it as UTF-8", Exit.REFUSED) from error
    with session.connect() as client:
        found = client.ranker.validate_profile(pb.ValidateProfileRequest(toml=text))
    if session.output.as_json:
        session.output.document(message_json(found))
    _print(session.output, file, found)
    if found.problems:
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _print(output: Output, file: Path, found: pb.ValidateProfileResponse) -> None:
    for problem in found.problems:
        output.line(f"{file}: {problem}")
    if not found.problems:
        output.line(f"{file}: {found.ranking_profile.name} is valid, digest {found.ranking_profile.digest}")

"""`ranktrail profiles`: the constants that rank."""

from pathlib import Path

import click

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import TextField, read_bounded
from ranktrail_cli.output import Output
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.tables import Column, Table
from ranktrail_client.message_json import message_json

MAX_PROFILE_BYTES = 65_536
COLUMNS = (Column("profile"), Column("default"), Column("source"), Column("digest", yields=1))


@click.group(
    epilog=examples(
        "ranktrail profiles list",
        "ranktrail profiles show activation.v1 > mine.toml",
        "ranktrail profiles validate mine.toml",
    )
)
def profiles() -> None:
    """List, show and check ranking profiles: the constants that rank."""


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
    with session.connect("ranker") as client:
        found = client.ranker.list_profiles()
    if session.output.as_json:
        session.output.document(message_json(found))
        return
    table = Table(COLUMNS)
    for profile in found.profiles:
        named = profile.ranking_profile
        table.add(named.name, "yes" if profile.is_default else "", profile.source, named.digest)
    session.output.table(table)


@profiles.command(
    "show",
    epilog=examples(
        "ranktrail profiles show activation.v1",
        "ranktrail profiles show activation.v1 > mine.toml",
        "ranktrail profiles show activation.v1 --json",
    ),
)
@click.argument("name", type=TextField("profile"))
@with_session
def show_profile(session: Session, name: str) -> None:
    """Print the TOML of the ranking profile NAME."""
    with session.connect("ranker") as client:
        known = client.ranker.list_profiles().profiles
    profile = next((one for one in known if one.ranking_profile.name == name), None)
    if profile is None:
        raise CommandFailed(
            f"profile {name!r} is not known: `ranktrail profiles list` names those that are", Exit.REFUSED
        )
    if session.output.as_json:
        session.output.document(message_json(profile))
    else:
        session.output.block(profile.toml.rstrip("\n"))


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
    found = _validated(session, text)
    if session.output.as_json:
        session.output.document(message_json(found))
    _print(session.output, file, found)
    if found.problems:
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _validated(session: Session, text: str) -> pb.ValidateProfileResponse:
    if not text.strip():
        return pb.ValidateProfileResponse(problems=["the file is empty"])
    with session.connect("ranker") as client:
        return client.ranker.validate_profile(pb.ValidateProfileRequest(toml=text))


def _print(output: Output, file: Path, found: pb.ValidateProfileResponse) -> None:
    for problem in found.problems:
        output.line(f"{file}: {problem}")
    if not found.problems:
        output.line(f"{file}: {found.ranking_profile.name} is valid, digest {found.ranking_profile.digest}")

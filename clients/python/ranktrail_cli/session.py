"""What every command is told: which services to talk to, and how to print."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from ranktrail_cli.output import Output
from ranktrail_client.client import Client
from ranktrail_client.data_directory import VARIABLE, resolve_data_directory

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Session:
    """One command's connection and output."""

    data_dir: Path
    given_data_dir: Path | None
    ranker: str | None
    history: str | None
    token: str | None
    allow_remote: bool
    output: Output

    def connect(self) -> Client:
        """Return a client of the services that the options name; raise Refused for a wrong address."""
        return Client.connect(
            self.data_dir,
            ranker=self.ranker,
            history=self.history,
            token=self.token,
            allow_remote=self.allow_remote,
        )


_OPTIONS = (
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        help=f"Where Ranktrail keeps everything. Default: ${VARIABLE}, else the platform's user data folder.",
    ),
    click.option("--ranker", envvar="RANKTRAIL_RANKER", help="Address of the ranker: unix:/path or host:port."),
    click.option("--history", envvar="RANKTRAIL_HISTORY", help="Address of the history service."),
    click.option("--allow-remote", is_flag=True, help="Allow addresses that are not on this machine."),
    click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document (lines, where the output has no end)."
    ),
)


def with_session(function: Command) -> Command:
    """Add the options that every command has; `function` gets a Session first."""

    @functools.wraps(function)
    def command(
        *args: Any,
        data_dir: Path | None,
        ranker: str | None,
        history: str | None,
        allow_remote: bool,
        as_json: bool,
        **options: Any,
    ) -> Any:
        session = Session(
            data_dir=resolve_data_directory(data_dir, os.environ),
            given_data_dir=data_dir,
            ranker=ranker,
            history=history,
            token=os.environ.get("RANKTRAIL_TOKEN"),
            allow_remote=allow_remote,
            output=Output(as_json),
        )
        return function(session, *args, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]

"""What every command is told: which services to talk to, and how to print."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.output import Output
from ranktrail_cli.readiness import wait_until_serving
from ranktrail_client.address import Address, Reach
from ranktrail_client.certificates import Certificates
from ranktrail_client.client import AsyncClient, Client
from ranktrail_client.data_directory import VARIABLE, resolve_data_directory
from ranktrail_client.errors import Refused

Command = TypeVar("Command", bound=Callable[..., Any])
AnyClient = TypeVar("AnyClient", Client, AsyncClient)


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
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def certificates(self) -> Certificates | None:
        """What the options name for encrypted connections; raise Refused when it cannot be used."""
        return Certificates.read(self.tls_ca, self.tls_cert, self.tls_key)

    def connect(self, *needed: Literal["ranker", "history"]) -> Client:
        """Return a client of the services that the options name, once those `needed` serve or nobody is starting them.

        Raises CommandFailed for an address that leaves this machine without --allow-remote, and for a needed service
        that does not come to serve.
        """
        client = self._connected(Client)
        try:
            for name in needed:
                calls = client.ranker if name == "ranker" else client.history
                wait_until_serving(calls, name, self.data_dir, self.output.remark)
        except BaseException:
            client.close()
            raise
        return client

    def connect_async(self) -> AsyncClient:
        """Return a client for coroutines, which belongs to the running loop, whether the services serve or not.

        Raises CommandFailed for an address that leaves this machine without --allow-remote.
        """
        return self._connected(AsyncClient)

    def _connected(self, kind: type[AnyClient]) -> AnyClient:
        self._check_reach()
        return kind.connect(
            self.data_dir,
            ranker=self.ranker,
            history=self.history,
            token=self.token,
            allow_remote=self.allow_remote,
            certificates=self.certificates,
        )

    def _check_reach(self) -> None:
        for option, given in (("--ranker", self.ranker), ("--history", self.history)):
            if given and not self.allow_remote and Address.parse(given).reach is Reach.REMOTE:
                raise CommandFailed(
                    f"{option} {given!r} is not on this machine: add --allow-remote to send a memory there",
                    Exit.REFUSED,
                )


class AddressField(click.ParamType[str]):
    """An address of a service."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; fail as a wrong usage when it is no address. An empty one counts as not given."""
        text = str(value)
        try:
            if text:
                Address.parse(text)
        except Refused as error:
            self.fail(str(error), param, ctx)
        return text


PEM = click.Path(path_type=Path, dir_okay=False)
_OPTIONS = (
    click.option(
        "--data-dir",
        type=click.Path(path_type=Path),
        help=f"Where Ranktrail keeps everything. Default: ${VARIABLE}, else the platform's user data folder.",
    ),
    click.option(
        "--ranker",
        type=AddressField(),
        envvar="RANKTRAIL_RANKER",
        help="Address of the ranker: unix:/path or host:port.",
    ),
    click.option("--history", type=AddressField(), envvar="RANKTRAIL_HISTORY", help="Address of the history service."),
    click.option("--allow-remote", is_flag=True, help="Allow addresses that are not on this machine."),
    click.option(
        "--tls-ca",
        type=PEM,
        envvar="RANKTRAIL_TLS_CA",
        help="PEM file that services' certificates are checked against.",
    ),
    click.option("--tls-cert", type=PEM, envvar="RANKTRAIL_TLS_CERT", help="PEM file with the certificate to show."),
    click.option("--tls-key", type=PEM, envvar="RANKTRAIL_TLS_KEY", help="PEM file with its key."),
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
        tls_ca: Path | None,
        tls_cert: Path | None,
        tls_key: Path | None,
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
            tls_ca=tls_ca,
            tls_cert=tls_cert,
            tls_key=tls_key,
        )
        return function(session, *args, **options)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command  # type: ignore[return-value]

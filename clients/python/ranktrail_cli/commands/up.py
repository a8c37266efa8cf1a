"""`ranktrail up`: both services, and the diagnostics pages, under one supervisor."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.output import Output
from ranktrail_cli.service_encryption import ServiceEncryption
from ranktrail_cli.session import PEM, Session, with_session
from ranktrail_cli.supervised import Supervised, ending
from ranktrail_cli.supervised_pages import make_pages
from ranktrail_cli.supervisor import Supervisor, is_healthy, make_services
from ranktrail_cli.supervisor_lock import locked
from ranktrail_client.client import Client

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(
    epilog=examples(
        "ranktrail up",
        "ranktrail up --data-dir /tmp/ranktrail --no-diagnostics",
        "RANKTRAIL_HOME=/tmp/ranktrail ranktrail up --json",
        "ranktrail up --ranker 127.0.0.1:5301 --tls-ca ca.pem --tls-cert server.pem --tls-key server.key",
        "ranktrail up --cross-encoder folder:models/ms-marco-MiniLM-L6-v2 --profile reranked.v1",
    )
)
@click.option("--profile", metavar="NAME", help="Ranking profile of requests that name none.")
@click.option("--encoder", metavar="MODEL", help="package:NAME, folder:PATH or hf:ORG/NAME@REVISION.")
@click.option("--cross-encoder", metavar="MODEL", help="Reranker of profiles whose method is cross_encoder.")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), help="Change the encoder's; rebuilds every index.")
@click.option("--recording", type=click.Choice(["on", "off"]), help="Whether Runs go to history.")
@click.option("--allow-download", is_flag=True, help="Let a hf: model be downloaded.")
@click.option("--diagnostics/--no-diagnostics", default=True, help="Whether to serve the diagnostics pages too.")
@click.option(
    "--diagnostics-port", type=click.IntRange(0, 65_535), default=0, help="Their port. Default: any free one."
)
@click.option("--tls-client-ca", type=PEM, help="Callers on TCP must show a certificate that this PEM file signed.")
@with_session
def up(
    session: Session,
    *,
    allow_download: bool,
    diagnostics: bool,
    diagnostics_port: int,
    tls_client_ca: Path | None,
    **ranker_options: str | None,
) -> None:
    """Run both services and the diagnostics pages, and start one again that dies, until Ctrl-C.

    A second Ctrl-C does not wait for their end. The services serve on Unix sockets in the data directory, which nobody
    else can open, or at the addresses given: on TCP callers need the token in run/token, and off loopback the services
    need --tls-cert and --tls-key. The pages are on a port of loopback, at the address that is printed: whoever has it
    can see every Run. What they log goes to standard error.
    """
    os.umask(0o077)
    encryption = ServiceEncryption(session, tls_client_ca)
    with session.connect() as client, locked(session.data_dir), _stop_signals() as received:
        _refuse_running(client, session)
        services = make_services(
            session.data_dir,
            client,
            ranker=session.ranker,
            history=session.history,
            ranker_options=[
                *_options(ranker_options),
                *(["--allow-download"] if allow_download else []),
                *encryption.ranker_options(),
            ],
            history_options=encryption.history_options(),
        )
        # First, since children end in this order: browsers that listen should not wait for the services.
        pages = [make_pages(session.data_dir, diagnostics_port, _addresses(session))] if diagnostics else []
        supervisor = Supervisor([*pages, *services], _Printed(session.output))
        try:
            supervisor.start(lambda: bool(received))
            if not received:
                session.output.line(f"data in {session.data_dir}; Ctrl-C ends all")
            supervisor.keep(lambda: bool(received))
            session.output.line("ending…")
        finally:
            supervisor.stop(lambda: len(received) > 1)


def _options(values: Mapping[str, str | Path | None]) -> Iterator[str]:
    """Yield the options that were given, as they are written on a command line."""
    for name, value in values.items():
        if value is not None:
            yield from (f"--{name.replace('_', '-')}", str(value))


def _addresses(session: Session) -> list[str]:
    """Return the options that name the services, where they are not at their own place."""
    given = _options(
        {
            "ranker": session.ranker,
            "history": session.history,
            "tls-ca": session.tls_ca,
            "tls-cert": session.tls_cert,
            "tls-key": session.tls_key,
        }
    )
    return [*given, *(["--allow-remote"] if session.allow_remote else [])]


@contextmanager
def _stop_signals() -> Iterator[list[int]]:
    """Collect the signals that ask for an end, instead of dying from them."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in _STOPPING}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _refuse_running(client: Client, session: Session) -> None:
    for name, calls in (("ranker", client.ranker), ("history", client.history)):
        if is_healthy(calls):
            raise CommandFailed(
                f"--data-dir {str(session.data_dir)!r} has a {name} that serves at {calls.address} already: "
                "end it, or choose another folder",
                Exit.CONFLICT,
            )


class _Printed:
    """Prints what becomes of the services."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def serving(self, service: Supervised) -> None:
        """Say that it serves."""
        process = service.process
        if self._output.as_json:
            pid = None if process is None else process.pid
            self._output.json_line(
                {"event": "serving", "service": service.name, "address": service.address, "pid": pid}
            )
        self._output.line(f"{service.name} serves at {service.address}")

    def died(self, service: Supervised, exit_code: int, seconds: float) -> None:
        """Say that it ended by itself."""
        if self._output.as_json:
            self._output.json_line(
                {"event": "died", "service": service.name, "exit_code": exit_code, "restart_s": seconds}
            )
        self._output.remark(f"{service.name} ended {ending(exit_code)}: it starts again in {seconds:g} s")

    def killed(self, service: Supervised) -> None:
        """Say that it had to be killed."""
        self._output.remark(f"{service.name} did not end in time and was killed")

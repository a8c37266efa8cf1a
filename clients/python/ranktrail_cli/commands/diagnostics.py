"""`ranktrail diagnostics`: the pages alone, against services that run already."""

import os
import webbrowser
from pathlib import Path

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.session import Session, with_session


@click.command(
    epilog=examples(
        "ranktrail diagnostics --open",
        "ranktrail diagnostics --port 8787 --data-dir /tmp/ranktrail",
        "ranktrail diagnostics --host 192.0.2.7 --certificate cert.pem --key key.pem --name ranktrail.example",
    )
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default=True, help="0: any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Any but loopback needs --certificate and --key.")
@click.option("--certificate", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="PEM file.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="PEM file.")
@click.option("--name", "names", multiple=True, help="A further host name that browsers may ask for.")
@click.option("--open", "opens", is_flag=True, help="Open a browser.")
@with_session
def diagnostics(
    session: Session,
    port: int,
    host: str,
    certificate: Path | None,
    key: Path | None,
    names: tuple[str, ...],
    opens: bool,
) -> None:
    """Serve the diagnostics pages until Ctrl-C, and print the address that opens them.

    Whoever has the address can see every Run: it carries the token of the services, or, where they ask for none, one in
    the data directory that nobody else can read. `ranktrail up` serves the same pages.
    """
    # What the pages need takes a second to load, which no other command should wait for.
    from ranktrail_diagnostics.access import access_token  # noqa: PLC0415
    from ranktrail_diagnostics.serving import serve  # noqa: PLC0415
    from ranktrail_diagnostics.settings import Settings  # noqa: PLC0415

    if (certificate is None) != (key is None):
        raise CommandFailed("--certificate and --key go together: give both or neither", Exit.USAGE)

    def announce(listening: Settings) -> None:
        address = listening.opening_address
        if session.output.as_json:
            session.output.json_line({"event": "serving", "service": "diagnostics", "address": address})
        session.output.line(f"diagnostics serves at {address}")
        if opens:
            webbrowser.open(address)

    token = access_token(session.data_dir, os.environ)
    serve(session.connect(), Settings(host, port, token, certificate, key, names), announce)

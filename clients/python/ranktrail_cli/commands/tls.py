"""`ranktrail tls`: certificates for services that others than this machine reach."""

import re
import socket
from pathlib import Path
from typing import Any

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.session import Session, with_session

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_NAME = re.compile(r"(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9a-fA-F:.]{2,45}")


class NameField(click.ParamType[str]):
    """A host name or an IP address."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; fail as a wrong usage when no certificate could be for it."""
        text = str(value)
        if not _NAME.fullmatch(text):
            self.fail(f"{text!r} is neither a host name nor an IP address", param, ctx)
        return text


@click.group()
def tls() -> None:
    """Make certificates for services on TCP."""


@tls.command(
    epilog=examples(
        "ranktrail tls init --name memory.example --name 192.0.2.7",
        "ranktrail tls init /srv/ranktrail-tls --days 90",
    )
)
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--name", "names", type=NameField(), multiple=True, help="A further host name or IP address that callers dial."
)
@click.option("--days", type=click.IntRange(1, 3_650), default=397, show_default=True, help="How long they are valid.")
@with_session
def init(session: Session, folder: Path | None, names: tuple[str, ...], days: int) -> None:
    """Make an authority, and a certificate of it for the services and one for callers; overwrite nothing.

    FOLDER is made, by default tls in the data directory, and only its owner can read it. The server's certificate is
    for localhost, its addresses, this machine's name and each --name. Callers need ca.pem, and client.pem with
    client.key where the services ask for a certificate; ca.key signs further ones and is best kept elsewhere.
    """
    # Nobody else needs it, and it takes a tenth of a second to load.
    from ranktrail_cli.certificates import write_certificates  # noqa: PLC0415

    target = (folder or session.data_dir / "tls").absolute()
    all_names = list(dict.fromkeys([*LOCAL_NAMES, *_own_name(), *names]))
    ends = write_certificates(target, all_names, days)
    if session.output.as_json:
        files = {name: {"expire_time": end.isoformat()} for name, end in ends.items()}
        session.output.document({"folder": str(target), "names": all_names, "certificates": files})
    session.output.line(f"{target}: ca, server and client, each .pem and .key")
    session.output.line(f"the server's certificate is for {', '.join(all_names)}, until {ends['server']:%Y-%m-%d}")
    place = f"--tls-ca {target}/ca.pem"
    session.output.line(f"services: --tls-cert {target}/server.pem --tls-key {target}/server.key {place}")
    session.output.line(f"mutual:   --tls-client-ca {target}/ca.pem as well")
    session.output.line(
        f"callers:  {place}, and --tls-cert {target}/client.pem --tls-key {target}/client.key if mutual"
    )


def _own_name() -> list[str]:
    name = socket.gethostname()
    return [name] if _NAME.fullmatch(name) else []

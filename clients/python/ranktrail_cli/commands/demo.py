"""`ranktrail demo`: everything at once, on a memory that ships with it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ranktrail_cli.demonstration import Demonstration, demo_failed
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.handbook_queries import Handbook
from ranktrail_cli.output import Output
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.supervised import Supervised
from ranktrail_cli.supervisor import Supervisor, make_services
from ranktrail_cli.temporary_folder import end_on_sigterm, short_folder
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError

LOG = "services.log"
LOG_LINES = 20


@click.command(
    epilog=examples(
        "ranktrail demo",
        "ranktrail demo --json",
        "ranktrail demo --data-dir /tmp/demo",
    )
)
@with_session
def demo(session: Session) -> None:
    """Show retrieval and its record on a small operations handbook that ships with Ranktrail.

    Starts both services in a temporary folder, syncs the handbook's two layers, asks five queries and shows every
    candidate, reads a Run back from history, asks once more with the state of the first time and after an edit, and
    stops both services. Services that run already are not used. With --data-dir, everything stays in that new folder.
    """
    os.umask(0o077)
    with end_on_sigterm(), _folder(session.given_data_dir) as folder:
        _run(folder, session.output)


def _run(folder: Path, output: Output) -> None:
    handbook = Handbook.copy_to(folder / "handbook")
    with (folder / LOG).open("wb") as log, Client.connect(folder) as client:
        services = make_services(folder, client, log=log.fileno())
        supervisor = Supervisor(services, _Started(output))
        demonstration = Demonstration(client, handbook, output)
        try:
            supervisor.start()
            demonstration.run()
        except (CommandFailed, RanktrailError):
            _show_log(folder / LOG, output)
            raise
        finally:
            supervisor.stop()
    _check_clean_end(services)
    output.line()
    output.line("both services have stopped")
    if output.as_json:
        output.document(demonstration.document)


class _Started:
    """Says where the services serve."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def serving(self, service: Supervised) -> None:
        """Say that it serves."""
        self._output.line(f"{service.name} serves at {service.address}")

    def died(self, service: Supervised, exit_code: int, seconds: float) -> None:  # noqa: ARG002 - as the protocol says
        """Say that it ended by itself."""
        self._output.remark(f"{service.name} ended by itself")

    def killed(self, service: Supervised) -> None:
        """Say that it had to be killed."""
        self._output.remark(f"{service.name} did not end in time and was killed")


def _check_clean_end(services: tuple[Supervised, ...]) -> None:
    for service in services:
        code = None if service.process is None else service.process.returncode
        if code != 0:
            raise demo_failed(f"{service.name} did not stop cleanly")


def _show_log(path: Path, output: Output) -> None:
    for line in path.read_text("utf-8", "replace").splitlines()[-LOG_LINES:]:
        output.remark(f"log: {line}")


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """Give a new folder: the one asked for, which stays, or a temporary one, which goes."""
    if given is not None:
        yield _made(given.expanduser().absolute())
        return
    with short_folder() as folder:
        yield folder


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise CommandFailed(
            f"--data-dir {str(folder)!r} cannot be made: choose another folder", Exit.REFUSED
        ) from error
    if not is_empty:
        raise CommandFailed(f"--data-dir {str(folder)!r} is not empty: the demo needs a new folder", Exit.REFUSED)
    return folder

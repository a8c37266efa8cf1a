"""The services of a data directory for a look at what they keep: those that serve, else ones that change nothing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.session import Session
from ranktrail_cli.supervised import Supervised
from ranktrail_cli.supervisor import Supervisor, is_healthy
from ranktrail_cli.supervisor_lock import is_supervised
from ranktrail_cli.temporary_folder import end_on_sigterm, short_folder
from ranktrail_client.client import Client
from ranktrail_client.history import HistoryCalls
from ranktrail_client.ranker import RankerCalls

SERVICES: tuple[Literal["history"], Literal["ranker"]] = ("history", "ranker")
LOG = "services.log"


@contextmanager
def inspected(session: Session) -> Iterator[Client]:
    """Lend a client of both services.

    One that serves is used as it is. For one that does not, and that no option gives an address of, a process runs as
    long as the block does: on the same data directory, at an address that nobody else knows, and without doing anything
    by itself. Raises CommandFailed when it cannot: another process has the directory, or its data cannot be opened.
    """
    with session.connect(*(SERVICES if is_supervised(session.data_dir) else ())) as client:
        given = {"history": session.history, "ranker": session.ranker}
        calls: dict[str, HistoryCalls | RankerCalls] = {"history": client.history, "ranker": client.ranker}
        wanted = [name for name in SERVICES if not given[name] and not is_healthy(calls[name])]
        if not wanted:
            yield client
            return
    _require_data(session.data_dir)
    with _running(session.data_dir, wanted) as addresses:
        own = Client.connect(
            session.data_dir,
            ranker=addresses.get("ranker", session.ranker),
            history=addresses.get("history", session.history),
            token=session.token,
            allow_remote=session.allow_remote,
            certificates=session.certificates,
        )
        with own:
            yield own


@contextmanager
def inspected_folder(folder: Path) -> Iterator[Client]:
    """Lend a client of services on a folder that nothing serves."""
    with _running(folder, SERVICES) as addresses, _connected(folder, addresses) as client:
        yield client


def _connected(folder: Path, addresses: Mapping[str, str]) -> Client:
    return Client.connect(folder, ranker=addresses.get("ranker"), history=addresses.get("history"))


def _require_data(data_dir: Path) -> None:
    if not any((data_dir / name).is_dir() for name in SERVICES):
        raise CommandFailed(f"--data-dir {str(data_dir)!r} holds no data: name the folder of a Ranktrail", Exit.REFUSED)


@contextmanager
def _running(data_dir: Path, names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Run services; yield the address of each."""
    with end_on_sigterm(), short_folder() as folder, (folder / LOG).open("wb") as log:
        addresses = {name: f"unix:{folder / name}.sock" for name in names}
        with _connected(data_dir, addresses) as client:
            services = [_service(name, data_dir, addresses[name], client, log.fileno()) for name in names]
            supervisor = Supervisor(services, _Silence())
            try:
                _start(supervisor, folder / LOG)
                yield addresses
            finally:
                supervisor.stop()


def _service(name: str, data_dir: Path, address: str, client: Client, log: int) -> Supervised:
    calls = client.history if name == "history" else client.ranker
    arguments = ("--data-dir", str(data_dir), "--address", address, "--inspect")
    return Supervised(name, f"{name}_service", arguments, address, lambda: is_healthy(calls), log)


def _start(supervisor: Supervisor, log: Path) -> None:
    try:
        supervisor.start()
    except CommandFailed as error:
        lines = log.read_text("utf-8", "replace").splitlines()
        # A start that is refused ends in one sentence that says why and what to do.
        said = next((line for line in reversed(lines) if line.startswith(SERVICES)), None)
        unsaid = f"{str(error).partition(':')[0]}: {lines[-1]}" if lines else str(error)
        raise CommandFailed(said or unsaid, Exit.INCOMPLETE) from error


class _Silence:
    """Says nothing: what becomes of these services shows in the calls to them."""

    def serving(self, service: Supervised) -> None:
        """Say nothing."""

    def died(self, service: Supervised, exit_code: int, seconds: float) -> None:
        """Say nothing."""

    def killed(self, service: Supervised) -> None:
        """Say nothing."""

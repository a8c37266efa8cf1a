"""The real product for a measurement: both services as processes on Unix sockets, in a temporary data directory."""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ranktrail_client import Client
from ranktrail_client.errors import RanktrailError

START_SECONDS = 60.0


@contextlib.contextmanager
def running(
    data_dir: Path, ranker: tuple[str, ...] = (), history: bool = True
) -> Iterator[tuple[Client, dict[str, subprocess.Popen[bytes]]]]:
    """Start the services, wait until they serve, and end them."""
    modules = {"ranker_service": ranker, **({"history_service": ()} if history else {})}
    processes = {
        module: subprocess.Popen(
            [sys.executable, "-m", module, "--data-dir", str(data_dir), *arguments], stderr=subprocess.DEVNULL
        )
        for module, arguments in modules.items()
    }
    try:
        with Client.connect(data_dir) as client:
            _wait(client, history)
            yield client, processes
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait(30)


def _wait(client: Client, history: bool) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            if client.ranker.check_health(1) and (not history or client.history.check_health(1)):
                return
        except RanktrailError:
            if time.monotonic() > until:
                raise
        time.sleep(0.1)


@contextlib.contextmanager
def temporary_data_dir() -> Iterator[Path]:
    """Make a directory of a short path, since a socket's path has a limit."""
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as directory:
        yield Path(directory)


def sync(data_dir: Path, folder: Path, project: str) -> None:
    """`ranktrail sync`, as a user runs it."""
    command = [sys.executable, "-m", "ranktrail_cli", "sync", str(folder), "--project", project, "--data-dir"]
    subprocess.run([*command, str(data_dir)], check=True)

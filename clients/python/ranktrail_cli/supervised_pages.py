"""The diagnostics pages as a child of `ranktrail up`."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from ranktrail_cli.supervised import STANDARD_ERROR, Supervised

LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 1.0


def make_pages(data_dir: Path, port: int, options: Sequence[str] = (), log: int = STANDARD_ERROR) -> Supervised:
    """Return the pages of a data directory at a port, 0 for any free one.

    Port and token are settled here, so that an open page goes on after the child was started again.
    """
    from ranktrail_diagnostics.access import access_token  # noqa: PLC0415 - nobody else needs it
    from ranktrail_diagnostics.settings import Settings  # noqa: PLC0415

    settings = Settings(LOOPBACK, port or _free_port(), access_token(data_dir, os.environ))
    arguments = ("--data-dir", str(data_dir), "--port", str(settings.port), *options)
    return Supervised(
        "diagnostics",
        "ranktrail_diagnostics",
        arguments,
        settings.opening_address,
        lambda: _accepts(settings.port),
        log,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _accepts(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True

"""Where Ranktrail keeps everything, and what lies where in it."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import platformdirs

VARIABLE = "RANKTRAIL_HOME"


def resolve_data_directory(given: Path | str | None, environment: Mapping[str, str]) -> Path:
    """Return the absolute data directory: the one given, else $RANKTRAIL_HOME, else the platform's user data folder."""
    chosen = given or environment.get(VARIABLE) or platformdirs.user_data_dir("ranktrail", appauthor=False)
    return Path(chosen).expanduser().absolute()


def run_directory(data_directory: Path) -> Path:
    """Return where sockets and the token are."""
    return data_directory / "run"


def socket_address(data_directory: Path, service: str) -> str:
    """Return the address that `service` ("ranker" or "history") serves at by default.

    gRPC reads what follows `unix:` as part of a URI, so that a path is quoted.
    """
    return "unix:" + quote(str(run_directory(data_directory) / f"{service}.sock"), safe="/")


def token_file(data_directory: Path) -> Path:
    """Return the file that holds the bearer token of a service on TCP."""
    return run_directory(data_directory) / "token"

"""What a user can choose: arguments, then the environment, then defaults."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from ranktrail_serving.errors import CertificateRefused
from ranktrail_serving.listener import Address, UnixAddress, parse_address
from ranktrail_serving.tls import NO_CERTIFICATES, Certificates, add_certificate_options, certificates_of

DEFAULT_GRACE_SECONDS = 30.0
DEFAULT_RETAINED_RUNS = 500
_EXAMPLE = """example:
  python -m history_service --data-dir /srv/ranktrail
  serves unix:/srv/ranktrail/run/history.sock and keeps its data in /srv/ranktrail/history
"""


@dataclass(frozen=True, slots=True)
class Config:
    """How this process runs.

    `interrupted_grace_us` is how long a Run may lack a stream before it is failed, `retain_runs` how many unpinned
    Runs of a project are kept once they ended. To `inspect` is to change nothing that nobody asked for.
    """

    data_dir: Path
    address: Address
    interrupted_grace_us: int
    retain_runs: int
    inspect: bool = False
    certificates: Certificates = NO_CERTIFICATES


def read_config(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Config:
    """Read the arguments; raise SystemExit with a usage message, StartRefused for an address that is not safe."""
    given = _parser().parse_args(arguments)
    data_dir = Path(given.data_dir or environment.get("RANKTRAIL_HOME") or platformdirs.user_data_dir("ranktrail"))
    data_dir = data_dir.expanduser().absolute()
    certificates = certificates_of(given)
    address = parse_address(
        given.address or f"unix:{data_dir / 'run' / 'history.sock'}", encrypted=certificates.encrypts
    )
    if certificates.encrypts and isinstance(address, UnixAddress):
        raise CertificateRefused("--tls-cert is for TCP, and a Unix socket needs none: give --address HOST:PORT")
    grace_us = round(given.interrupted_grace * 1_000_000)
    return Config(data_dir, address, grace_us, given.retain_runs, given.inspect, certificates)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m history_service",
        description="Remembers every retrieval Run, for good.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data-dir", metavar="D", help="default: $RANKTRAIL_HOME, else the user's data folder")
    parser.add_argument("--address", metavar="A", help="unix:PATH or HOST:PORT; default: unix:D/run/history.sock")
    add_certificate_options(parser)
    parser.add_argument(
        "--interrupted-grace",
        metavar="SECONDS",
        type=_seconds,
        default=DEFAULT_GRACE_SECONDS,
        help="how long a Run may lack a recording stream before it is failed; default: %(default)g",
    )
    parser.add_argument(
        "--retain-runs",
        metavar="N",
        type=_retained,
        default=DEFAULT_RETAINED_RUNS,
        help="how many ended Runs of a project are kept, besides those that cases pin; default: %(default)d",
    )
    parser.add_argument(
        "--inspect",
        action="store_true",
        help="serve the data as they lie: fail no interrupted Run and remove nothing, until a caller asks for it",
    )
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:  # noqa: PLR2004 - a day
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 86400")
    return seconds


def _retained(text: str) -> int:
    count = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= count <= 1_000_000_000:  # noqa: PLR2004 - more than a database holds
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of Runs from 1 to 1000000000")
    return count

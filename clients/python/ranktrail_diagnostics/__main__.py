"""Serves the diagnostics pages alone: `python -m ranktrail_diagnostics --data-dir D --port P`."""

import argparse
import logging
import os
import sys
from pathlib import Path

from ranktrail_client import Certificates, Client, RanktrailError
from ranktrail_diagnostics.access import access_token
from ranktrail_diagnostics.serving import serve
from ranktrail_diagnostics.settings import LOOPBACK, Settings

REFUSED = 5


def main() -> int:
    """Serve until a signal; return the exit code."""
    parser = argparse.ArgumentParser(prog="ranktrail_diagnostics", description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ranker")
    parser.add_argument("--history")
    parser.add_argument("--allow-remote", action="store_true")
    for option in ("--tls-ca", "--tls-cert", "--tls-key"):
        parser.add_argument(option, type=Path)
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        token = access_token(options.data_dir, os.environ)
        client = Client.connect(
            options.data_dir,
            ranker=options.ranker,
            history=options.history,
            token=os.environ.get("RANKTRAIL_TOKEN"),
            allow_remote=options.allow_remote,
            certificates=Certificates.read(options.tls_ca, options.tls_cert, options.tls_key),
        )
        serve(client, Settings(LOOPBACK, options.port, token), lambda _: None)
    except RanktrailError as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())

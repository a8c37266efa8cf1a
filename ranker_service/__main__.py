"""Runs the ranker: `python -m ranker_service --data-dir DIR`."""

import logging
import os
import signal
import sys

from ranker_service.bootstrap import start
from ranker_service.config import Config
from ranktrail_serving.errors import StartRefused

STOPPING = (signal.SIGTERM, signal.SIGINT)


def main() -> int:
    """Serve until SIGTERM or SIGINT; return 0 after a clean stop, 4 or 5 when the start was refused."""
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = Config.from_arguments(sys.argv[1:])
    # A pipe needs no lock: a handler that sets an event can meet the lock that the waiting thread holds.
    stopped, stop = os.pipe()
    for number in STOPPING:
        signal.signal(number, lambda *_: os.write(stop, b"."))
    try:
        ranker = start(config)
    except StartRefused as error:
        print(f"ranker: {error}", file=sys.stderr)  # noqa: T201 - the one sentence that a person sees
        return error.exit_code
    os.read(stopped, 1)
    ranker.stop()
    return 0


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    # Everything that counts is on disk. An index being built is given up: its threads, and libraries that other threads
    # are still in, are not waited for.
    os._exit(code)

"""Runs the ranker: `python -m ranker_service --data-dir DIR`."""

import logging
import os
import signal
import sys
import threading

from ranker_service.bootstrap import start
from ranker_service.config import Config
from ranktrail_serving.errors import StartRefused


def main() -> int:
    """Serve until SIGTERM or SIGINT; return 0 after a clean stop, 4 or 5 when the start was refused."""
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    config = Config.from_arguments(sys.argv[1:])
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        ranker = start(config)
    except StartRefused as error:
        print(f"ranker: {error}", file=sys.stderr)  # noqa: T201 - the one sentence that a person sees
        return error.exit_code
    stop.wait()
    ranker.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the ranker: `python -m ranker_service --data-dir DIR`."""

import logging
import os
import sys
from collections.abc import Callable

from ranker_service.config import Config
from ranktrail_serving.errors import StartRefused
from ranktrail_serving.log_lines import log_to_standard_error
from ranktrail_serving.stop_signal import StopSignal


def main() -> int:
    """Serve until SIGTERM or SIGINT; return 0 after a clean stop, 4 or 5 when the start was refused."""
    os.umask(0o077)
    log_to_standard_error()
    stop_signal = StopSignal()
    try:
        config = Config.from_arguments(sys.argv[1:])
        stop_serving = _start(config)
    except StartRefused as error:
        print(f"ranker: {error}", file=sys.stderr)  # noqa: T201 - the one sentence that a person sees
        return error.exit_code
    stop_signal.wait()
    stop_serving()
    return 0


def _start(config: Config) -> Callable[[], None]:
    """Serve; return what stops it."""
    # A look at what is stored needs no model, and loading what runs one takes seconds.
    if config.inspect:
        from ranker_service import inspection  # noqa: PLC0415

        return inspection.start(config).stop
    from ranker_service import bootstrap  # noqa: PLC0415

    return bootstrap.start(config).stop


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    # Everything that counts is on disk. An index being built is given up: its threads, and libraries that other threads
    # are still in, are not waited for.
    os._exit(code)

"""Runs the service until SIGTERM or SIGINT."""

import logging
import os
import sys
from collections.abc import Sequence

from history_service.bootstrap import HistoryService
from history_service.config import read_config
from history_service.domain.errors import HistoryError
from ranktrail_serving.errors import StartRefused
from ranktrail_serving.log_lines import log_to_standard_error
from ranktrail_serving.stop_signal import StopSignal

logger = logging.getLogger("history_service")

EXIT_REFUSED = 5


def main(arguments: Sequence[str]) -> int:
    """Serve; return the exit code."""
    os.umask(0o077)
    log_to_standard_error()
    stop_signal = StopSignal()
    try:
        config = read_config(arguments)
        service = HistoryService(config)
    except (StartRefused, HistoryError) as error:
        sys.stderr.write(f"history: {error}\n")
        return error.exit_code if isinstance(error, StartRefused) else EXIT_REFUSED
    with service:
        service.start()
        logger.info("serves %s with the data of %s", service.target, config.data_dir)
        stop_signal.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

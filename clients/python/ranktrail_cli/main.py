"""The entry point of the console script and of `python -m ranktrail_cli`.

What it runs takes half a second to load. Until then Ctrl-C ends the process as it ends any program: no traceback.
"""

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line that this process was started with."""
    # Somebody who started this with SIGINT ignored, or a handler of a host program, is left alone.
    is_pythons_own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_pythons_own:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # gRPC writes lines of its own about connections that end, which a command's sentence tells already.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    from ranktrail_cli import command_line  # noqa: PLC0415 - this is what takes its time

    command_line.main(takes_interrupts=is_pythons_own)

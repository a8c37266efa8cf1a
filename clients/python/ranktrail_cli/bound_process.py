"""Becomes `python -m MODULE ARGUMENTS`, bound to the life of the process that started it.

    python -m ranktrail_cli.bound_process PARENT_PID MODULE ARGUMENTS...

On Linux the kernel sends it SIGTERM when its parent ends, whatever ended the parent; the wish outlives the exec.
Elsewhere only an orderly parent ends it.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Bind, then exec; exit with 1 when the parent has gone already."""
    parent, module, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        _die_with_parent()
        if os.getppid() != int(parent):
            sys.exit(1)
    os.umask(0o077)
    # -P: a folder that happens to be the working directory must not stand in for a package.
    os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])  # noqa: S606 - no shell


def _die_with_parent() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")


if __name__ == "__main__":
    main()

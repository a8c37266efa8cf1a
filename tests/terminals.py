"""Programs on a real terminal, for tests.

Not by pexpect's own spawn: it forks, and a fork of a process with gRPC threads may die before it becomes the program.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

import pexpect
from pexpect.fdpexpect import fdspawn

ROWS, COLUMNS = 30, 100
SECONDS = 30
# Makes standard input the controlling terminal, so that Ctrl-C there is a signal, then becomes the program.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A terminal with a program on it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.descriptor, program_side = pty.openpty()
        fcntl.ioctl(program_side, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            stdin=program_side,
            stdout=program_side,
            stderr=program_side,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        os.close(program_side)
        self._screen = fdspawn(self.descriptor, encoding="utf-8", timeout=SECONDS)

    def see(self, text: str) -> str:
        """Wait for a text; return what came before it."""
        self._screen.expect_exact(text)
        return str(self._screen.before)

    def type(self, keys: str) -> None:
        """Type keys."""
        self._screen.send(keys)

    def press(self, keys: str, then: str) -> str:
        """Type keys and wait for a text; return what came before it."""
        self.type(keys)
        return self.see(then)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return (exit code, what was shown last, without colours)."""
        self._screen.expect(pexpect.EOF)
        last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", str(self._screen.before))
        self._screen.close()
        return self.process.wait(SECONDS), last.replace("\r\n", "\n")

"""A terminal's keys one by one, and now and then a line."""

import codecs
import os
import signal
import sys
import termios
from types import FrameType, TracebackType
from typing import Self

ESCAPE = "\x1b"
_LOCAL_FLAGS, _CONTROL_CHARACTERS = 3, 6
"""Where termios keeps them among its attributes."""


class Keyboard:
    """Reads standard input, which must be a terminal, key by key and without an echo while the block runs.

    Ctrl-C raises KeyboardInterrupt and so does the end of input; what was typed ahead is kept.
    """

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._lines = termios.tcgetattr(self._descriptor)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._takes_a_line = False

    def __enter__(self) -> Self:
        import readline  # noqa: F401, PLC0415 - gives `input` its line editing, and touches the terminal

        # A shell that stopped the process gives the terminal back as it likes it.
        self._before = signal.signal(signal.SIGCONT, self._take_up_again)
        self._read_keys()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGCONT, self._before)
        self._read_lines()

    def key(self) -> str:
        """Return the next key as its character; a key that has none, such as an arrow, is ESCAPE."""
        while not self._waiting:
            read = os.read(self._descriptor, 1_024)
            if not read:
                raise KeyboardInterrupt
            self._waiting = self._decoder.decode(read)
        if self._waiting[0] == ESCAPE:  # an arrow and the like come as one read of several characters
            self._waiting = ""
            return ESCAPE
        key, self._waiting = self._waiting[0], self._waiting[1:]
        return key

    def line(self, prompt: str) -> str:
        """Return a line that is typed with an echo, without the white space around it; empty where input ends."""
        typed, newline, self._waiting = self._waiting.partition("\n")
        if newline:
            return typed.strip()
        self._read_lines()
        self._takes_a_line = True
        try:
            return (typed + input(prompt + typed)).strip()
        except EOFError:
            return ""
        finally:
            self._takes_a_line = False
            self._read_keys()

    def _take_up_again(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        if not self._takes_a_line:
            self._read_keys()

    def _read_lines(self) -> None:
        # Draining keeps what was typed ahead, which flushing would drop.
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._lines)

    def _read_keys(self) -> None:
        attributes = termios.tcgetattr(self._descriptor)
        attributes[_LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        attributes[_CONTROL_CHARACTERS][termios.VMIN] = 1
        attributes[_CONTROL_CHARACTERS][termios.VTIME] = 0
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, attributes)

"""The signals that end a service."""

import os
import signal

STOPPING = (signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """SIGTERM or SIGINT, caught from the moment that this is made; make it on the main thread.

    The interpreter writes to the pipe whichever thread the system gives the signal to. A handler of its own would run
    on the main thread alone, and nothing wakes that where another thread took the signal, as when a process that was
    frozen goes on.
    """

    def __init__(self) -> None:
        self._stopped, stop = os.pipe()
        os.set_blocking(stop, False)
        signal.set_wakeup_fd(stop, warn_on_full_buffer=False)
        for number in STOPPING:
            signal.signal(number, lambda *_: None)

    def wait(self) -> None:
        """Return once the signal has come."""
        os.read(self._stopped, 1)

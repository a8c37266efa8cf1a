"""When a call is repeated, and when it is given up: the same for calls that wait and calls that are awaited.

What is safe to repeat is repeated with back-off while the service cannot be reached, and, where it said when to come
back, while it is overloaded. One deadline is for all attempts. A service that kept silent has had its time.
"""

import time
from collections.abc import Iterator
from typing import Generic

from ranktrail_client.errors import NoAnswer, Overloaded, RanktrailError, ServiceUnreachable
from ranktrail_client.method import Method, Request, Response

# Seconds before each further attempt.
RETRY_DELAYS = (0.1, 0.2, 0.4)
# As above, to take a broken stream up again; each message starts the row anew.
RESUME_DELAYS = (0.2, 0.4, 0.8, 1.6, 3.2, 5.0)


class Attempts(Generic[Request, Response]):
    """What is left of one call: its time, and the delays before further attempts. `request` is what to send next."""

    def __init__(self, method: Method[Request, Response], request: Request | None, timeout: float | None) -> None:
        self._method = method
        self._delays = self._fresh_delays()
        seconds = method.deadline if timeout is None else timeout
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.request = method.request_type() if request is None else request
        if method.resume is not None:  # the caller's own stays as it is
            self.request = method.request_type()
            self.request.MergeFrom(request or self.request)

    @property
    def timeout(self) -> float | None:
        """Seconds for the next attempt; None: no end."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def heard(self, response: Response) -> None:
        """Take note of a message of a stream: from now on it can only be resumed."""
        if self._method.resume is None:
            self._delays = iter(())
        else:
            self._method.resume(self.request, response)
            self._delays = self._fresh_delays()

    def delay_after(self, error: RanktrailError) -> float:
        """Return the seconds to wait before the next attempt; raise `error` where there is none."""
        hint = _hint(error)
        delay = None if hint is None else next(self._delays, None)
        if hint is None or delay is None:
            raise error
        delay = max(delay, hint)
        if self._deadline is not None and time.monotonic() + delay >= self._deadline:
            raise error
        return delay

    def _fresh_delays(self) -> Iterator[float]:
        if self._method.resume is not None:
            return iter(RESUME_DELAYS)
        return iter(RETRY_DELAYS if self._method.repeats else ())


def _hint(error: RanktrailError) -> float | None:
    """Return the seconds after which the service may do better; None where another attempt does not help."""
    if isinstance(error, Overloaded):
        hint = error.metadata.get("retry_after_ms", "")
        return int(hint) / 1_000 if hint.isascii() and hint.isdigit() else None
    return 0.0 if isinstance(error, ServiceUnreachable) and not isinstance(error, NoAnswer) else None

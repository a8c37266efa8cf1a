"""A clock that moves only when it is told to, or by one step a look."""


class ManualClock:
    """A ports.Clock; each look at the monotonic time takes `step_us`."""

    def __init__(self, step_us: int = 0) -> None:
        self.time_us = 1_000_000_000_000_000
        self.elapsed_us = 0
        self.step_us = step_us

    def now_us(self) -> int:
        """Return UTC microseconds since 1970."""
        return self.time_us + self.elapsed_us

    def monotonic_us(self) -> int:
        """Return microseconds since the clock was made."""
        self.elapsed_us += self.step_us
        return self.elapsed_us

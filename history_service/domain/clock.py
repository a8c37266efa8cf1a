"""Time, as the inside of history sees it."""

from collections.abc import Callable

Clock = Callable[[], int]
"""Returns UTC microseconds since 1970."""

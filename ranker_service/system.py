"""The machine's clock and randomness."""

import secrets
import time

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


class SystemClock:
    """The machine's clocks; a ports.Clock."""

    def now_us(self) -> int:
        """Return UTC microseconds since 1970."""
        return time.time_ns() // 1_000

    def monotonic_us(self) -> int:
        """Return microseconds that never run backwards."""
        return time.monotonic_ns() // 1_000


def new_run_id() -> str:
    """Return a ULID (26 characters of Crockford's base 32): a millisecond timestamp, then 80 random bits."""
    number = time.time_ns() // 1_000_000 << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -5, -5))


def new_token() -> str:
    """Return a bearer token: 43 characters, 256 random bits."""
    return secrets.token_urlsafe(32)


def jitter() -> float:
    """Return a number from 0 to 1, for waits that should not all end at once."""
    return secrets.randbelow(1_000) / 1_000


def new_instance_id() -> str:
    """Return the name of one process: 16 hex digits."""
    return secrets.token_hex(8)

"""Ids of cases."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS = 26
_RANDOM_BITS = 80


def case_id(time_us: int, randomness: bytes) -> str:
    """Return a ULID (26 characters of Crockford's base 32): a millisecond timestamp, then the 10 random bytes."""
    value = (time_us // 1_000) << _RANDOM_BITS | int.from_bytes(randomness)
    return "".join(_ALPHABET[value >> (5 * place) & 31] for place in reversed(range(_CHARACTERS)))

"""How values are written in an exported set: JSON, times, and bytes cut into frames."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from history_service.domain.digest import canonical_json

FRAME_BYTES = 1_048_576
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SHORTEST, _LONGEST = 1e-4, 1e16
"""Between these a float is written without an exponent."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def time_text(time_us: int) -> str:
    """Return UTC microseconds since 1970 as RFC 3339, with microseconds: 2026-11-30T18:46:56.123456Z."""
    return (_EPOCH + time_us * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time_us(text: str) -> int:
    """Return the microseconds of what `time_text` made; raise ValueError for anything else."""
    if _TIME.fullmatch(text) is None:
        raise ValueError("is no time such as 2026-11-30T18:46:56.123456Z")
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND


def quick_json(value: Any, numbers: Iterable[float | None] = ()) -> bytes:
    """Return what `canonical_json` returns, several times as fast.

    `numbers` are all floats in the value: the faster encoder writes very small and very large ones in other words.
    """
    sizes = [abs(number) for number in numbers if number]
    # The sum is too large wherever one of them is, and no number where one is none.
    if not sizes or (min(sizes) >= _SHORTEST and sum(sizes) < _LONGEST):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return canonical_json(value)


def framed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in frames of 1 MiB; only the last is smaller."""
    frame = bytearray()
    for piece in pieces:
        rest = memoryview(piece)
        while len(frame) + len(rest) >= FRAME_BYTES:
            taken = FRAME_BYTES - len(frame)
            frame += rest[:taken]
            yield bytes(frame)
            frame.clear()
            rest = rest[taken:]
        frame += rest
    if frame:
        yield bytes(frame)

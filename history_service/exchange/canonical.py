"""How values are written in an exported set: times, and bytes cut into frames."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

FRAME_BYTES = 1_048_576
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def time_text(time_us: int) -> str:
    """Return UTC microseconds since 1970 as RFC 3339, with microseconds: 2026-11-30T18:46:56.123456Z."""
    return (_EPOCH + time_us * _MICROSECOND).isoformat(timespec="microseconds").replace("+00:00", "Z")


def time_us(text: str) -> int:
    """Return the microseconds of what `time_text` made; raise ValueError for anything else."""
    if _TIME.fullmatch(text) is None:
        raise ValueError("is no time such as 2026-11-30T18:46:56.123456Z")
    return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND


def plain(value: Any) -> Any:
    """Return a value of dataclasses, named tuples, mappings and sequences as JSON has it."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


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

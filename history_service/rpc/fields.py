"""Checks of single fields, each of which names the field and the fix."""

import re

from google.protobuf import timestamp_pb2

from history_service.domain.digest import is_digest
from history_service.domain.errors import FieldInvalid
from history_service.domain.limits import MAX_RUN_ID_CHARACTERS

_RUN_ID = re.compile(rf"[A-Za-z0-9._:-]{{1,{MAX_RUN_ID_CHARACTERS}}}")
_SECONDS = range(-62_135_596_800, 253_402_300_800)
"""From year 1 to 9999, as google.protobuf.Timestamp allows."""
_NANOS = range(1_000_000_000)


def checked_run_id(run_id: str) -> str:
    """Return a run id that may be looked for; raise FieldInvalid otherwise."""
    if _RUN_ID.fullmatch(run_id) is None:
        raise FieldInvalid(
            "run_id",
            f'must be 1 to {MAX_RUN_ID_CHARACTERS} of A-Z, a-z, 0-9, ".", "_", ":" and "-"',
            MAX_RUN_ID_CHARACTERS,
        )
    return run_id


def checked_text(field: str, text: str, limit: int, required: bool = True) -> str:
    """Return text of at most `limit` bytes; raise FieldInvalid otherwise, and for none when it is required."""
    if required and not text:
        raise FieldInvalid(field, "is missing: send it")
    # Most text is far shorter than a quarter of its limit, where no encoding can exceed it.
    if len(text) * 4 > limit and len(text.encode("utf-8")) > limit:
        raise FieldInvalid(field, f"has more than {limit} bytes: shorten it", limit)
    return text


def checked_digest(field: str, text: str) -> str:
    """Return a digest; raise FieldInvalid for anything else."""
    if not is_digest(text):
        raise FieldInvalid(field, "must be 64 lower-case hex digits")
    return text


def checked_count(field: str, value: int) -> int:
    """Return a count; raise FieldInvalid when it is negative."""
    if value < 0:
        raise FieldInvalid(field, "is negative: send 0 or more")
    return value


def microseconds(field: str, time: timestamp_pb2.Timestamp, round_up: bool = False) -> int:
    """Return a time as UTC microseconds since 1970; raise FieldInvalid outside the years 1 to 9999."""
    if time.seconds not in _SECONDS or time.nanos not in _NANOS:
        raise FieldInvalid(field, "is no time of the years 1 to 9999")
    return time.seconds * 1_000_000 + (time.nanos + (999 if round_up else 0)) // 1_000


def timestamp(time_us: int) -> timestamp_pb2.Timestamp:
    """Return UTC microseconds since 1970 as a message."""
    seconds, rest_us = divmod(time_us, 1_000_000)
    return timestamp_pb2.Timestamp(seconds=seconds, nanos=rest_us * 1_000)

"""Values as a person reads them. Absent is a dash, never a zero."""

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail.trace.v1.trace_pb2 import DeltaAction, ExclusionReason, Layer, ParseState
from ranktrail_client.message_json import enum_word
from ranktrail_client.trace_words import optional

DASH = "–"  # noqa: RUF001 - an en dash is what stands for nothing
_KIB = 1_024
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_DECIMALS_BELOW = 100

DELTAS = {
    "add": "new to the caller",
    "replace": "the caller knew another version of it",
    "reuse": "the caller has it; its text was not sent again",
}
STAGES = {
    "activation_state": "activation state",
    "effective_memory": "effective memory",
    "index_ensure": "index",
    "exact": "exact identity",
    "bm25": "BM25",
    "embedding": "embedding",
    "vector": "dense vectors",
    "rrf": "rank fusion",
    "rerank": "reranker",
    "selection": "selection",
    "recording": "recording",
    "retrieval": "retrieval",
}
EXACT_PRIORITIES = {
    0: "the query is the resource's id",
    1: "the query is a path, file name, title or heading",
    2: "a path, file name, title or heading starts with the query",
}


def product_version() -> str:
    """Return this release's version."""
    return version("ranktrail")


def stage_name(stage: str) -> str:
    """Return a stage's name for people; one that this release does not know keeps its word."""
    return STAGES.get(stage, stage.replace("_", " "))


def moment(time: Timestamp | datetime | None) -> str:
    """Return a time to the second, in UTC."""
    found = as_datetime(time)
    return DASH if found is None else found.strftime("%Y-%m-%d %H:%M:%S")


def iso(time: Timestamp | datetime | None) -> str:
    """Return a time for a machine."""
    found = as_datetime(time)
    return "" if found is None else found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_datetime(time: Timestamp | datetime | None) -> datetime | None:
    """Return a time with its zone, and None for one that is not set or outside the years 1 to 9999."""
    if isinstance(time, datetime) or time is None:
        return time
    try:
        return time.ToDatetime(UTC) if time.seconds or time.nanos else None
    except (OverflowError, ValueError):
        return None


def size(count: int) -> str:
    """Return a number of bytes with two or three significant digits."""
    value, unit = float(count), 0
    while value >= _KIB and unit < len(_UNITS) - 1:
        value, unit = value / _KIB, unit + 1
    digits = 0 if unit == 0 or value >= _DECIMALS_BELOW else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"


def milliseconds(microseconds: float | None) -> str:
    """Return a duration in milliseconds."""
    if microseconds is None:
        return DASH
    value = microseconds / 1_000
    return f"{value:,.0f}" if value >= _DECIMALS_BELOW else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def number(value: int | None) -> str:
    """Return an integer with thousands separated."""
    return DASH if value is None else f"{value:,}"


def score(value: float | None, places: int = 3) -> str:
    """Return a score."""
    return DASH if value is None else f"{value:.{places}f}"


def counted(value: int, noun: str) -> str:
    """Return a number of things whose plural ends in s, in words."""
    return f"{value:,} {noun}" if value == 1 else f"{value:,} {noun}s"


def short(text: str, limit: int = 12) -> str:
    """Return the first characters of a digest or id."""
    return text if len(text) <= limit else text[:limit] + "…"


def state(run: RetrievalRun) -> str:
    """Return the word of a Run's state."""
    return str(enum_word(RetrievalRun.State.DESCRIPTOR, run.state) or DASH)


def layer(value: int) -> str:
    """Return the word of a layer."""
    return str(enum_word(Layer.DESCRIPTOR, value) or DASH)


def delta(value: int) -> str | None:
    """Return the word of a delta action, None where there is none."""
    word = enum_word(DeltaAction.DESCRIPTOR, value)
    return None if word is None else str(word)


def exclusion(value: int) -> str | None:
    """Return the word of an exclusion reason, None where there is none."""
    word = enum_word(ExclusionReason.DESCRIPTOR, value)
    return None if word is None else str(word)


def parse_state(value: int) -> str | None:
    """Return the word of a parse state, None where nobody has tried yet."""
    word = enum_word(ParseState.DESCRIPTOR, value)
    return None if word is None else str(word)


def total_us(run: RetrievalRun) -> int | None:
    """Return the time that all stages of a Run took, None where none is known."""
    return sum(stage.duration_us for stage in run.stage_latencies) if run.stage_latencies else None


def signed(message: Any, field: str) -> str:
    """Return a difference with its sign, a dash where the message has none."""
    present = not hasattr(message, "HasField") or message.HasField(field)
    return f"{getattr(message, field):+.4f}" if present else DASH


FILTERS: dict[str, Callable[..., Any]] = {
    "moment": moment,
    "iso": iso,
    "size": size,
    "ms": milliseconds,
    "number": number,
    "score": score,
    "short": short,
    "stage_name": stage_name,
    "run_state": state,
    "total_us": total_us,
    "layer": layer,
    "optional": optional,
    "signed": signed,
}

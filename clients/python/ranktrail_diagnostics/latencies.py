"""Stage latencies of the last Runs: the newest window, and its percentiles over time."""

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ranktrail.history.v1.history_service_pb2 import RetrievalRun
from ranktrail_diagnostics.words import as_datetime

WINDOW_RUNS = 1_000
MAX_BUCKETS = 24
TOTAL = "total"
_WIDTHS = tuple(
    timedelta(seconds=seconds) for seconds in (1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800)
)


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Nearest-rank percentiles of durations in microseconds, over `count` Runs."""

    p50_us: int
    p95_us: int
    count: int

    @classmethod
    def of(cls, durations: Sequence[int]) -> "Percentiles":
        """Return those of at least one duration."""
        ordered = sorted(durations)
        return cls(nearest_rank(ordered, 50), nearest_rank(ordered, 95), len(ordered))


def nearest_rank(ordered: Sequence[int], percent: int) -> int:
    """Return the smallest value that at least `percent` of the ascending values do not exceed."""
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The Runs created in [start, start + width of the timeline)."""

    start: datetime
    stages: dict[str, Percentiles]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Latencies of warm Runs that succeeded: by stage, in the order of the stages, and the same in each bucket."""

    stages: dict[str, Percentiles]
    buckets: list[Bucket]
    width: timedelta
    cold_count: int


@dataclass(frozen=True, slots=True)
class _Sample:
    created: datetime
    durations: dict[str, int]
    is_cold: bool


class LatencyWindow:
    """The newest Runs, each once. Safe to use from any thread."""

    def __init__(self, size: int = WINDOW_RUNS) -> None:
        self.size = size
        self._samples: dict[str, _Sample] = {}
        self._lock = threading.Lock()

    def add(self, runs: Iterable[RetrievalRun]) -> bool:
        """Take in the Runs that succeeded; return whether one of them is new."""
        fresh = {run.run_id: sample for run in runs if (sample := _sample(run)) is not None}
        with self._lock:
            is_new = not fresh.keys() <= self._samples.keys()
            self._samples |= fresh
            if len(self._samples) > self.size:
                newest = sorted(self._samples.items(), key=lambda item: item[1].created)[-self.size :]
                self._samples = dict(newest)
        return is_new

    def timeline(self) -> Timeline:
        """Return the percentiles of the window."""
        with self._lock:
            samples = sorted(self._samples.values(), key=lambda sample: sample.created)
        warm = [sample for sample in samples if not sample.is_cold]
        width = _bucket_width(warm)
        slots: dict[int, list[_Sample]] = {}
        for sample in warm:
            slots.setdefault(int(sample.created.timestamp() // width.total_seconds()), []).append(sample)
        buckets = [
            Bucket(datetime.fromtimestamp(slot * width.total_seconds(), UTC), _percentiles(found))
            for slot, found in sorted(slots.items())
        ]
        return Timeline(_percentiles(warm), buckets, width, len(samples) - len(warm))


def _sample(run: RetrievalRun) -> _Sample | None:
    created = as_datetime(run.create_time)
    if run.state != RetrievalRun.STATE_SUCCEEDED or created is None:
        return None
    durations = {stage.stage: stage.duration_us for stage in run.stage_latencies}
    return _Sample(created, {**durations, TOTAL: sum(durations.values())}, run.cold)


def _bucket_width(samples: Sequence[_Sample]) -> timedelta:
    if not samples:
        return _WIDTHS[0]
    span = samples[-1].created - samples[0].created
    return next((width for width in _WIDTHS if span <= width * (MAX_BUCKETS - 1)), span / (MAX_BUCKETS - 1))


def _percentiles(samples: Sequence[_Sample]) -> dict[str, Percentiles]:
    durations: dict[str, list[int]] = {}
    for sample in samples:
        for stage, duration in sample.durations.items():
            durations.setdefault(stage, []).append(duration)
    return {stage: Percentiles.of(found) for stage, found in durations.items()}

"""Scores to a result: means, outcomes, labels and the exit code."""

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

from ranktrail_evals.dataset.checksum import checksum
from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.gate import DEFINITIONS, Gate
from ranktrail_evals.judge.catalog import JUDGED
from ranktrail_evals.labels import Label, labels_of
from ranktrail_evals.results.model import (
    BaselineResult,
    GateExit,
    JudgeIdentity,
    LiveIdentity,
    MetricResult,
    Outcome,
    RecordResult,
    Result,
    Value,
)
from ranktrail_evals.runner import Evaluated
from ranktrail_evals.scores import Reason, Score

_PLACES = 12
"""Digits that a mean keeps, so that 0.8 reached by adding is 0.8."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, who is asked, and by whom it is judged."""

    dataset: Dataset
    split: str | None
    sample: int | None
    seed: int
    mode: str
    judge: JudgeIdentity | None
    live: LiveIdentity | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which run this is."""

    result_id: str
    create_time: str

    @classmethod
    def now(cls, dataset_id: str) -> "Stamp":
        """Return a stamp that no other run has."""
        time = datetime.now(UTC)
        result_id = f"{dataset_id}-{time:%Y%m%dT%H%M%SZ}-{secrets.token_hex(6)}"
        return cls(result_id, time.isoformat(timespec="microseconds").replace("+00:00", "Z"))


def make_result(
    subject: Subject, stamp: Stamp, gate: Gate, evaluated: Sequence[Evaluated], *, is_complete: bool = True
) -> Result:
    """Return the result of a run."""
    names = shown_metrics(subject.dataset)
    records = tuple(_record(one, gate, names) for one in evaluated)
    metrics = {name: _metric(name, gate, [one.metrics[name] for one in records]) for name in names}
    return Result(
        result_id=stamp.result_id,
        create_time=stamp.create_time,
        product_version=product_version(),
        mode=subject.mode,
        is_complete=is_complete,
        dataset=subject.dataset.dataset_id,
        dataset_version=subject.dataset.version,
        dataset_checksum=checksum(subject.dataset),
        split=subject.split,
        sample=subject.sample,
        seed=subject.seed,
        judge=subject.judge,
        live=subject.live,
        contracts={name: DEFINITIONS[name].contract for name in names},
        required=tuple(name for name in names if name in gate.required),
        exit_code=_exit_code(gate, metrics, records),
        metrics=metrics,
        lexical_baselines={
            metric.definition.name: _baseline([one.lexical_baselines[metric.definition.name] for one in records])
            for metric in JUDGED
        },
        label_counts=_label_counts(records),
        records=records,
    )


def product_version() -> str:
    """Return the release that measures."""
    return version("ranktrail")


def shown_metrics(dataset: Dataset) -> list[str]:
    """Return the names of a dataset's metrics; nDCG@10 is one of graded datasets only."""
    return [name for name in DEFINITIONS if name != "nDCG@10" or dataset.is_graded]


def _record(one: Evaluated, gate: Gate, names: Iterable[str]) -> RecordResult:
    scores = {name: one.scores[name] for name in names}
    return RecordResult(
        record_id=one.case.record.record_id,
        run_id=one.case.run_id,
        metrics={name: _value(score) for name, score in scores.items()},
        lexical_baselines={name: _value(score) for name, score in one.lexical_baselines.items()},
        labels=tuple(labels_of(one.case, scores, gate.thresholds, DEFINITIONS)),
    )


def _value(score: Score) -> Value:
    return Value(value=None, reason=score) if isinstance(score, Reason) else Value(value=score, reason=None)


def _metric(name: str, gate: Gate, values: Sequence[Value]) -> MetricResult:
    mean, direction, threshold = _mean(values), DEFINITIONS[name].direction, gate.thresholds[name]
    if mean is None:
        outcome = Outcome.UNAVAILABLE
    else:
        outcome = Outcome.PASS if direction.meets(mean, threshold) else Outcome.FAIL
    return MetricResult(
        value=mean,
        threshold=threshold,
        direction=direction,
        outcome=outcome,
        scored=_scored(values),
        total=len(values),
    )


def _baseline(values: Sequence[Value]) -> BaselineResult:
    return BaselineResult(value=_mean(values), scored=_scored(values), total=len(values))


def _mean(values: Sequence[Value]) -> float | None:
    found = [one.value for one in values if one.value is not None]
    return round(math.fsum(found) / len(found), _PLACES) if found else None


def _scored(values: Sequence[Value]) -> int:
    return sum(one.value is not None for one in values)


def _exit_code(gate: Gate, metrics: Mapping[str, MetricResult], records: Sequence[RecordResult]) -> GateExit:
    """Return FAILED where a required metric missed its threshold, INCOMPLETE where one lacks a value it should have."""
    required = [metrics.get(name) for name in gate.required]
    if any(one is not None and one.outcome is Outcome.FAIL for one in required):
        return GateExit.FAILED
    is_unavailable = any(one is None or one.outcome is Outcome.UNAVAILABLE for one in required)
    reasons = {record.metrics[name].reason for name in gate.required & metrics.keys() for record in records}
    # A record that asks nothing of a metric leaves nothing open.
    is_incomplete = is_unavailable or not reasons <= {None, Reason.MISSING_ANNOTATION}
    return GateExit.INCOMPLETE if is_incomplete else GateExit.PASSED


def _label_counts(records: Sequence[RecordResult]) -> dict[Label, int]:
    counts = Counter(label for record in records for label in record.labels)
    return {label: counts[label] for label in Label if counts[label]}

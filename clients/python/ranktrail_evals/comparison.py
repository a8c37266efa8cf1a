"""Two results of the same thing: what got better, what got worse, and by how much."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
from pydantic import Field

from ranktrail_evals.errors import NotComparable
from ranktrail_evals.results.model import Part, Result
from ranktrail_evals.scores import Direction, Reason
from ranktrail_evals.significance import bootstrap_interval

_PLACES = 12

Values = Mapping[str, float]
"""Values of one metric by record id."""


class ComparisonExit(IntEnum):
    """The exit codes that a comparison has."""

    HELD = 0
    REGRESSED = 1
    INCOMPLETE = 6


class MetricComparison(Part):
    """A metric over the cases that have a value on both sides."""

    baseline: float | None = Field(description="Mean over the paired cases.")
    candidate: float | None
    delta: float | None = Field(description="Mean of candidate - baseline.")
    interval: tuple[float, float] | None = Field(
        description="95% percentile bootstrap interval of delta; null for fewer than two pairs."
    )
    direction: Direction
    paired: int
    better: int
    worse: int
    is_regression: bool = Field(description="delta is worse by more than the tolerance.")


class CaseRegression(Part):
    """One case whose value got worse by more than the tolerance."""

    record_id: str
    metric: str
    baseline: float
    candidate: float
    run_id: str | None = Field(description="The candidate's Run.")


class LostValue(Part):
    """A value that the baseline has and the candidate lacks."""

    record_id: str
    metric: str
    reason: str


class Comparison(Part):
    """What became of a baseline."""

    baseline: str
    candidate: str
    dataset: str
    tolerance: float
    seed: int
    exit_code: ComparisonExit
    metrics: dict[str, MetricComparison]
    regressions: tuple[CaseRegression, ...]
    new_cases: tuple[str, ...]
    missing_cases: tuple[str, ...]
    lost_values: tuple[LostValue, ...]


def compare(baseline: Result, candidate: Result, *, tolerance: float, seed: int) -> Comparison:
    """Compare two results; raise NotComparable where they do not measure the same thing.

    A metric regressed where its mean over the paired cases is worse by more than `tolerance`.
    """
    _check(baseline, candidate)
    metrics = {
        name: _metric(name, baseline, candidate, tolerance, seed)
        for name in baseline.metrics
        if name in candidate.metrics
    }
    before, after = _ids(baseline), _ids(candidate)
    missing = tuple(one for one in before if one not in set(after))
    lost = tuple(_lost_values(baseline, candidate))
    regressed = any(one.is_regression for one in metrics.values())
    incomplete = ComparisonExit.INCOMPLETE if missing or lost else ComparisonExit.HELD
    return Comparison(
        baseline=baseline.result_id,
        candidate=candidate.result_id,
        dataset=baseline.dataset,
        tolerance=tolerance,
        seed=seed,
        exit_code=ComparisonExit.REGRESSED if regressed else incomplete,
        metrics=metrics,
        regressions=tuple(_regressions(baseline, candidate, tolerance)),
        new_cases=tuple(one for one in after if one not in set(before)),
        missing_cases=missing,
        lost_values=lost,
    )


def _check(baseline: Result, candidate: Result) -> None:
    for name, result in (("baseline", baseline), ("candidate", candidate)):
        if not result.is_complete:
            raise NotComparable(f"the {name} was interrupted before its judge was done: run it again")
    same = (
        ("dataset", baseline.dataset, candidate.dataset),
        ("dataset checksum", baseline.dataset_checksum, candidate.dataset_checksum),
        ("split", baseline.split, candidate.split),
        *(
            (f"contract of {name}", baseline.contracts[name], candidate.contracts[name])
            for name in baseline.contracts
            if name in candidate.contracts
        ),
    )
    for what, before, after in same:
        if before != after:
            raise NotComparable(f"the {what} differs ({before} and {after}): run the baseline again")
    if baseline.judge is not None and candidate.judge is not None and baseline.judge != candidate.judge:
        raise NotComparable(f"the judge differs ({baseline.judge.model} and {candidate.judge.model}): use the same one")


def _metric(name: str, baseline: Result, candidate: Result, tolerance: float, seed: int) -> MetricComparison:
    direction = baseline.metrics[name].direction
    before, after = _values(baseline, name), _values(candidate, name)
    shared = [one for one in before if one in after]
    deltas = np.array([after[one] - before[one] for one in shared], dtype=np.float64)
    gains = deltas if direction is Direction.HIGHER else -deltas
    return MetricComparison(
        baseline=_mean([before[one] for one in shared]),
        candidate=_mean([after[one] for one in shared]),
        delta=_mean(deltas),
        interval=bootstrap_interval(deltas, seed),
        direction=direction,
        paired=len(shared),
        better=int((gains > 0).sum()),
        worse=int((gains < 0).sum()),
        is_regression=bool(shared) and _exceeds(-float(gains.mean()), tolerance),
    )


def _regressions(baseline: Result, candidate: Result, tolerance: float) -> list[CaseRegression]:
    runs = {record.record_id: record.run_id for record in candidate.records}
    found = []
    for name in baseline.metrics:
        sign = 1 if baseline.metrics[name].direction is Direction.HIGHER else -1
        before, after = _values(baseline, name), _values(candidate, name)
        found += [
            CaseRegression(record_id=one, metric=name, baseline=before[one], candidate=after[one], run_id=runs[one])
            for one in before
            if one in after and _exceeds(sign * (before[one] - after[one]), tolerance)
        ]
    return found


def _lost_values(baseline: Result, candidate: Result) -> list[LostValue]:
    """Return what was measured before and is not now; a judge that is not configured now is no loss."""
    after = {record.record_id: record.metrics for record in candidate.records}
    return [
        LostValue(record_id=record.record_id, metric=name, reason=str(found.reason))
        for record in baseline.records
        for name, value in record.metrics.items()
        if value.value is not None
        and (found := after.get(record.record_id, {}).get(name)) is not None
        and found.reason not in {None, Reason.JUDGE_NOT_CONFIGURED}
    ]


def _exceeds(loss: float, tolerance: float) -> bool:
    return round(loss - tolerance, _PLACES) > 0


def _values(result: Result, name: str) -> Values:
    if name not in result.metrics:
        return {}
    values = ((record.record_id, record.metrics[name].value) for record in result.records)
    return {record_id: value for record_id, value in values if value is not None}


def _ids(result: Result) -> list[str]:
    return [record.record_id for record in result.records]


def _mean(values: Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    return round(float(np.mean(values)), _PLACES) if len(values) else None

"""The benchmark report: the four variants over a set of cases."""

from collections.abc import Iterable, Sequence
from math import fsum

from history_service.evaluation.case_measures import MEASURES
from history_service.evaluation.comparison import compare
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.latency import nearest_rank
from history_service.evaluation.measured_case import MeasuredCase, measured
from history_service.evaluation.results import BenchmarkReport, MeasureMean, MeasureValue, VariantReport
from history_service.evaluation.stage_loss import summed
from history_service.evaluation.variants import VARIANTS

QUALITY_GATE = "production quality gate: open"
"""What every report says: its figures describe the judged cases and promise nothing of others."""


def benchmark_report(cases: Iterable[JudgedCase], *, with_comparisons: bool = True) -> BenchmarkReport:
    """Measure cases, read one after another, and report as `report_of` does."""
    return report_of(map(measured, cases), with_comparisons=with_comparisons)


def report_of(cases: Iterable[MeasuredCase], *, with_comparisons: bool = True) -> BenchmarkReport:
    """Report over measured cases, taken one after another; the report has them in case_id order.

    Without comparisons nothing is resampled, which is what takes the longest.
    """
    found = sorted(cases, key=lambda case: case.report.case_id)
    reports = [case.report for case in found]
    return BenchmarkReport(
        quality_gate=QUALITY_GATE,
        case_count=len(reports),
        human_judged_case_count=sum(case.human_judged for case in found),
        variants=tuple(_variant_report(place, found) for place in range(len(VARIANTS))),
        comparisons=compare(reports) if with_comparisons else (),
        stage_loss=summed([report.stage_loss for report in reports]),
        cases=tuple(reports),
    )


def _variant_report(place: int, cases: Sequence[MeasuredCase]) -> VariantReport:
    durations = [duration for case in cases if (duration := case.durations[place]) is not None]
    measures = [case.report.variants[place].measures for case in cases]
    return VariantReport(
        VARIANTS[place].name,
        tuple(
            measure_mean([values[column] for values in measures], measure) for column, measure in enumerate(MEASURES)
        ),
        p50_us=nearest_rank(durations, 50),
        p95_us=nearest_rank(durations, 95),
    )


def measure_mean(values: Sequence[MeasureValue], measure: str) -> MeasureMean:
    """Return the mean of one measure over the cases where it is defined."""
    scored = [value.value for value in values if value.value is not None]
    return MeasureMean(
        measure,
        _mean(scored),
        scored=len(scored),
        total=len(values),
        low=_mean([value.low for value in values if value.low is not None]),
        high=_mean([value.high for value in values if value.high is not None]),
    )


def _mean(values: Sequence[float]) -> float | None:
    # fsum: the mean does not depend on the order of the cases.
    return fsum(values) / len(values) if values else None

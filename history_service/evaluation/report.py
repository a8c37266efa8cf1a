"""The benchmark report: the four variants over a set of cases."""

from collections.abc import Iterable, Sequence
from math import fsum

from history_service.evaluation.case_measures import MEASURES, measure_case
from history_service.evaluation.comparison import compare
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.latency import nearest_rank, warm_duration
from history_service.evaluation.results import BenchmarkReport, CaseReport, MeasureMean, MeasureValue, VariantReport
from history_service.evaluation.stage_loss import summed
from history_service.evaluation.variants import VARIANTS

QUALITY_GATE = "production quality gate: open"
"""What every report says: its figures describe the judged cases and promise nothing of others."""


def benchmark_report(cases: Iterable[JudgedCase], *, with_comparisons: bool = True) -> BenchmarkReport:
    """Measure cases, read one after another; the report has them in case_id order.

    Without comparisons nothing is resampled, which is what takes the longest.
    """
    tally = Tally()
    for case in cases:
        tally.add(case)
    return tally.report(with_comparisons=with_comparisons)


class Tally:
    """Measures cases as they come, and reports over those that came."""

    def __init__(self) -> None:
        self._reports: list[CaseReport] = []
        self._durations: list[list[int]] = [[] for _ in VARIANTS]
        self._human_judged = 0

    def add(self, case: JudgedCase) -> CaseReport:
        """Measure a case."""
        report = measure_case(case)
        self._reports.append(report)
        self._human_judged += any(judgment.source == "human" for judgment in case.judgments)
        for variant, known in zip(VARIANTS, self._durations, strict=True):
            duration = warm_duration(case, variant)
            if duration is not None:
                known.append(duration)
        return report

    def report(self, *, with_comparisons: bool = True) -> BenchmarkReport:
        """Report over all cases, as `benchmark_report` does."""
        reports = sorted(self._reports, key=lambda report: report.case_id)
        return BenchmarkReport(
            quality_gate=QUALITY_GATE,
            case_count=len(reports),
            human_judged_case_count=self._human_judged,
            variants=_variant_reports(reports, self._durations),
            comparisons=compare(reports) if with_comparisons else (),
            stage_loss=summed([report.stage_loss for report in reports]),
            cases=tuple(reports),
        )


def _variant_reports(cases: Sequence[CaseReport], durations: Sequence[Sequence[int]]) -> tuple[VariantReport, ...]:
    return tuple(
        VariantReport(
            variant.name,
            tuple(
                measure_mean([case.variants[place].measures[column] for case in cases], measure)
                for column, measure in enumerate(MEASURES)
            ),
            p50_us=nearest_rank(durations[place], 50),
            p95_us=nearest_rank(durations[place], 95),
        )
        for place, variant in enumerate(VARIANTS)
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

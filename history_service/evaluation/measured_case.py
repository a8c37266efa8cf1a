"""What a report takes from one case."""

from dataclasses import dataclass

from history_service.evaluation.case_measures import measure_case
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.latency import warm_duration
from history_service.evaluation.results import CaseReport
from history_service.evaluation.variants import VARIANTS


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """A case's measures; the microseconds that each variant took, None where that is not known; and who judged it."""

    report: CaseReport
    durations: tuple[int | None, ...]
    human_judged: bool


def measured(case: JudgedCase) -> MeasuredCase:
    """Measure a case."""
    return MeasuredCase(
        report=measure_case(case),
        durations=tuple(warm_duration(case, variant) for variant in VARIANTS),
        human_judged=any(judgment.source == "human" for judgment in case.judgments),
    )

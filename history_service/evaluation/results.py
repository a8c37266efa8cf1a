"""What a report holds; the fields are those of the contract's messages of the same names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class MeasureValue(NamedTuple):
    """One measure of one variant of one case; a named tuple, since a case has 28.

    `value` is None where the measure is undefined. `low` and `high`, of nDCG@10 only, are the value if every unjudged
    unit were irrelevant, or had the highest relevance.
    """

    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CaseVariantReport:
    """One variant of one case, its measures in the order of reports."""

    variant: str
    measures: tuple[MeasureValue, ...]


@dataclass(frozen=True, slots=True)
class StageLoss:
    """Of all relevant judgments, how many each stage still held, and how many each cause lost."""

    relevant_count: int
    lexical_recalled_count: int
    dense_recalled_count: int
    fused_count: int
    reranked_count: int
    returned_count: int
    lost_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CaseReport:
    """One case, its variants in the order of reports."""

    case_id: str
    judgment_version: int
    variants: tuple[CaseVariantReport, ...]
    stage_loss: StageLoss


@dataclass(frozen=True, slots=True)
class MeasureMean:
    """The mean of a measure over the `scored` of `total` cases where it is defined; None where there are none."""

    measure: str
    mean: float | None
    scored: int
    total: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class VariantReport:
    """One variant over all cases; the percentiles are microseconds of warm Runs, None without any."""

    variant: str
    measures: tuple[MeasureMean, ...]
    p50_us: int | None
    p95_us: int | None


@dataclass(frozen=True, slots=True)
class VariantComparison:
    """A paired comparison of two variants on one measure, over the cases where it is defined.

    `mean_difference` is variant minus baseline; the interval is its 95% bootstrap interval, None with fewer than two
    cases; `p_value` is None with too few non-tied cases to reach 0.05.
    """

    variant: str
    baseline: str
    measure: str
    mean_difference: float | None
    interval_low: float | None
    interval_high: float | None
    wins: int
    ties: int
    losses: int
    p_value: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class BenchmarkReport:
    """Four variants of the same source traces, measured on the same judgments; cases are in case_id order."""

    quality_gate: str
    case_count: int
    human_judged_case_count: int
    variants: tuple[VariantReport, ...]
    comparisons: tuple[VariantComparison, ...]
    stage_loss: StageLoss
    cases: tuple[CaseReport, ...]

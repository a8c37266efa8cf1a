"""Paired comparisons of variants."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from history_service.evaluation import significance
from history_service.evaluation.case_measures import MEASURES
from history_service.evaluation.measures import ndcg, recall, reciprocal_rank
from history_service.evaluation.results import CaseReport, VariantComparison
from history_service.evaluation.significance import Differences
from history_service.evaluation.variants import VARIANTS

COMPARED = (recall.NAME, ndcg.NAME, reciprocal_rank.NAME)
"""The measures compared: those of relevance, which are defined for the same cases."""

_TIE_PLACES = 12
"""Differences that are 0 after rounding to so many places are ties: sums in another order differ in the last one."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """What is compared: places in VARIANTS, VARIANTS and COMPARED."""

    variant: int
    baseline: int
    measure: int

    @property
    def names(self) -> tuple[str, str, str]:
        return VARIANTS[self.variant].name, VARIANTS[self.baseline].name, COMPARED[self.measure]


_PAIRS = tuple(
    _Pair(variant, baseline, measure)
    for baseline, variant in combinations(range(len(VARIANTS)), 2)
    for measure in range(len(COMPARED))
)


def compare(cases: Sequence[CaseReport]) -> tuple[VariantComparison, ...]:
    """Compare each variant with each before it, on each relevance measure.

    Holm's correction is over all comparisons that have enough non-tied cases to reach 0.05 by themselves.
    """
    differences = _differences(cases)
    lows, highs = _intervals(differences)
    p_values = _p_values(differences)
    return tuple(
        _comparison(pair, row, low, high, p_value)
        for pair, row, low, high, p_value in zip(_PAIRS, differences, lows, highs, p_values, strict=True)
    )


def _differences(cases: Sequence[CaseReport]) -> Differences:
    """Return variant minus baseline, (pairs, cases where the measures are defined), ties as exact zeros."""
    values = _values(cases)
    rows = [values[:, pair.variant, pair.measure] - values[:, pair.baseline, pair.measure] for pair in _PAIRS]
    return np.array(np.round(rows, _TIE_PLACES), dtype=np.float64)


def _values(cases: Sequence[CaseReport]) -> Differences:
    """Return (cases, variants, measures compared), without the cases where they are undefined."""
    columns = [MEASURES.index(measure) for measure in COMPARED]
    found = [[[variant.measures[column].value for column in columns] for variant in case.variants] for case in cases]
    # None becomes NaN.
    values = np.array(found, dtype=np.float64).reshape(len(cases), len(VARIANTS), len(COMPARED))
    return values[~np.isnan(values).any(axis=(1, 2))]


def _intervals(differences: Differences) -> tuple[Sequence[float | None], Sequence[float | None]]:
    if differences.shape[1] < 2:  # noqa: PLR2004 one case has no spread
        nothing = [None] * len(differences)
        return nothing, nothing
    lows, highs = significance.bootstrap_intervals(differences)
    return lows.tolist(), highs.tolist()


def _p_values(differences: Differences) -> list[float | None]:
    """Return corrected p values; None where even cases that all go one way would not reach 0.05.

    Those that would not reach it by themselves are no part of the family, whatever their figures.
    """
    non_tied = [row[row != 0] for row in differences]
    lowest = [significance.lowest_p(len(row)) for row in non_tied]
    family = [index for index, p_value in enumerate(lowest) if p_value <= significance.SIGNIFICANCE]
    corrected = significance.holm([significance.sign_flip_p(non_tied[index]) for index in family])
    reachable = significance.holm([lowest[index] for index in family])
    p_values: list[float | None] = [None] * len(differences)
    for index, p_value, bound in zip(family, corrected, reachable, strict=True):
        p_values[index] = p_value if bound <= significance.SIGNIFICANCE else None
    return p_values


def _comparison(
    pair: _Pair, row: Differences, low: float | None, high: float | None, p_value: float | None
) -> VariantComparison:
    variant, baseline, measure = pair.names
    wins, losses = int((row > 0).sum()), int((row < 0).sum())
    mean = float(row.mean()) if len(row) else None
    return VariantComparison(
        variant=variant,
        baseline=baseline,
        measure=measure,
        mean_difference=mean,
        interval_low=low,
        interval_high=high,
        wins=wins,
        ties=len(row) - wins - losses,
        losses=losses,
        p_value=p_value,
        verdict=_verdict(pair, mean, wins + losses, p_value),
    )


def _verdict(pair: _Pair, mean: float | None, non_tied: int, p_value: float | None) -> str:
    variant, baseline, measure = pair.names
    if mean is None:
        return f"No case has {measure}."
    if p_value is None:
        return f"Too few non-tied cases to reach {significance.SIGNIFICANCE}: {non_tied}."
    if p_value > significance.SIGNIFICANCE:
        return f"No difference between {variant} and {baseline} on {measure} is shown (p = {p_value:.4f})."
    word = "better" if mean > 0 else "worse"
    return f"{variant} is {word} than {baseline} on {measure} (p = {p_value:.4f})."

"""Whether paired differences could be chance.

The sign-flip test (Fisher 1935; for rankings Smucker, Allan and Carterette, CIKM 2007): if two variants are equally
good, each case's difference is as likely to have the other sign. Everything random is seeded, so the same differences
give the same figures.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.05
RESAMPLES = 9_999
SEED = 20_260_101

_EXACT_CASES = 13
"""The most non-tied cases whose sign flips, 2^n, are no more than RESAMPLES: all of them are tried."""
_BATCH = 500
"""Resamples made at once: few enough to stay in the processor's cache."""

Differences = NDArray[np.float64]


def bootstrap_intervals(differences: Differences) -> tuple[Differences, Differences]:
    """Return lower and upper ends of the 95% percentile bootstrap intervals of the row means.

    `differences` is (comparisons, cases), with at least two cases; all rows share the resampled cases.
    """
    # Loading it takes longer than starting the service, and a report without comparisons never needs it.
    from scipy.stats import bootstrap  # noqa: PLC0415

    found = bootstrap(
        (differences,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        axis=-1,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return found.confidence_interval.low, found.confidence_interval.high


def lowest_p(non_tied: int) -> float:
    """Return the p value of the sign-flip test where all non-tied cases go one way; none is lower."""
    return 2.0 ** (1 - non_tied)


def sign_flip_p(differences: Differences) -> float:
    """Return the two-sided p value of two or more non-tied differences.

    It is exact over all sign flips of up to 13 differences, Monte Carlo over 9,999 of more.
    """
    from scipy.stats import monte_carlo_test, permutation_test  # noqa: PLC0415

    if len(differences) <= _EXACT_CASES:
        exact = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=RESAMPLES)
        return float(exact.pvalue)
    generator = np.random.default_rng(SEED)

    def flipped(size: tuple[int, ...]) -> Differences:
        return np.where(generator.integers(0, 2, size, dtype=np.int8), differences, -differences)

    return float(monte_carlo_test(differences, flipped, np.mean, n_resamples=RESAMPLES, batch=_BATCH).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for being a family (Holm 1979), in the given order.

    The k-th smallest of m is multiplied by m - k + 1; none is then less than a smaller one's, nor more than 1.
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = highest
    return corrected

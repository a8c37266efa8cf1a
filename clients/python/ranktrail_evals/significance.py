"""Whether paired differences could be chance.

The sign-flip test (Fisher 1935; for rankings Smucker, Allan and Carterette, CIKM 2007): if two rankings are equally
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
_LEAST_CASES = 2
_PLACES = 12

Differences = NDArray[np.float64]


def bootstrap_interval(differences: Differences, seed: int = SEED) -> tuple[float, float] | None:
    """Return the 95% percentile bootstrap interval of the mean (Efron and Tibshirani, 1993); None of fewer than two."""
    if len(differences) < _LEAST_CASES:
        return None
    # Loading it takes longer than anything else here, and other modules need only the constants.
    from scipy.stats import bootstrap  # noqa: PLC0415

    found = bootstrap(
        (differences,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return round(float(found.low), _PLACES), round(float(found.high), _PLACES)


def corrected_p_values(rows: Sequence[Differences], seed: int = SEED) -> list[float | None]:
    """Return the two-sided p values of paired differences as one family, in their order.

    None where even cases that all go one way would not reach SIGNIFICANCE; those that would not reach it by themselves
    are no part of the family, whatever their figures.
    """
    non_tied = [row[row != 0] for row in rows]
    lowest = [2.0 ** (1 - len(row)) for row in non_tied]
    family = [index for index, p_value in enumerate(lowest) if p_value <= SIGNIFICANCE]
    corrected = holm([sign_flip_p(non_tied[index], seed) for index in family])
    reachable = holm([lowest[index] for index in family])
    p_values: list[float | None] = [None] * len(rows)
    for index, p_value, bound in zip(family, corrected, reachable, strict=True):
        p_values[index] = p_value if bound <= SIGNIFICANCE else None
    return p_values


def sign_flip_p(differences: Differences, seed: int = SEED) -> float:
    """Return the two-sided p value of two or more non-tied differences.

    It is exact over all sign flips of up to 13 differences, Monte Carlo over 9,999 of more.
    """
    from scipy.stats import monte_carlo_test, permutation_test  # noqa: PLC0415 - as above

    if len(differences) <= _EXACT_CASES:
        exact = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=RESAMPLES)
        return float(exact.pvalue)
    generator = np.random.default_rng(seed)

    def flipped(size: tuple[int, ...]) -> Differences:
        return np.where(generator.integers(0, 2, size, dtype=np.int8), differences, -differences)

    return float(monte_carlo_test(differences, flipped, np.mean, n_resamples=RESAMPLES).pvalue)


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

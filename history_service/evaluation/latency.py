"""How long a variant takes: percentiles of its stages' time over warm Runs."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil

from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.variants import Variant


def warm_duration(case: JudgedCase, variant: Variant) -> int | None:
    """Return the microseconds that the source Run spent in a variant's stages.

    None where the Run was not warm, or where the stage that decides the variant did not run in it. A stage before it
    that the profile leaves out takes no time.
    """
    if case.cold is not False:
        return None
    spent = {latency.stage: latency.duration_us for latency in case.stage_latencies}
    if variant.stages[-1] not in spent:
        return None
    return sum(spent.get(stage, 0) for stage in variant.stages)


def nearest_rank(durations: Sequence[int], percent: int) -> int | None:
    """Return the nearest-rank percentile: the smallest value that at least `percent` % do not exceed; None of none."""
    if not durations:
        return None
    return sorted(durations)[ceil(Fraction(percent * len(durations), 100)) - 1]

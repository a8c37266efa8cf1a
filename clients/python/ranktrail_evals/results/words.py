"""Values and outcomes in words, the same in every output."""

from collections import Counter

from ranktrail_evals.results.model import MetricResult, Result
from ranktrail_evals.scores import Reason

DASH = "\u2013"


def number(value: float | None) -> str:
    """Return a value with three decimals, a dash where there is none."""
    return DASH if value is None else f"{value:.3f}"


def threshold(metric: MetricResult) -> str:
    """Return where a metric passes, such as `>= 0.8`."""
    return f"{metric.direction.comparison} {metric.threshold:g}"


def metric_sentence(name: str, metric: MetricResult) -> str:
    """Return a metric in one line."""
    scored = f"scored {metric.scored} of {metric.total}"
    return f"{name} {number(metric.value)} ({threshold(metric)}) {metric.outcome}, {scored}"


def reasons(result: Result, name: str) -> Counter[Reason]:
    """Return how often each reason stands in place of a metric's value."""
    values = (record.metrics[name] for record in result.records)
    return Counter(value.reason for value in values if value.reason is not None)


def reasons_text(result: Result, name: str) -> str:
    """Return the reasons with their counts, most frequent first; empty where every case has a value."""
    return ", ".join(f"{reason} {count}" for reason, count in reasons(result, name).most_common())


def open_reasons(result: Result, name: str) -> str:
    """Return the reasons that leave a metric incomplete, with their counts."""
    found = reasons(result, name)
    found.pop(Reason.MISSING_ANNOTATION, None)
    return ", ".join(f"{reason} {count}" for reason, count in found.most_common())


def signed(value: float | None) -> str:
    """Return a difference with its sign and four decimals, a dash where there is none."""
    return DASH if value is None else f"{value:+.4f}"


def interval(found: tuple[float, float] | None) -> str:
    """Return an interval's two ends, a dash where there is none."""
    return DASH if found is None else f"{found[0]:+.4f} to {found[1]:+.4f}"


def p_value(value: float | None) -> str:
    """Return a p value with four decimals, a dash where there is none."""
    return DASH if value is None else f"{value:.4f}"

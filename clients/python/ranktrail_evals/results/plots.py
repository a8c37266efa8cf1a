"""The drawings of a report."""

from collections import Counter

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ranktrail_client.safe_text import safe_line
from ranktrail_evals.results.model import MetricResult, Outcome, Result
from ranktrail_evals.results.words import number
from ranktrail_plots import ACCENT, BAD, INK, MUTED, new_figure, themed_svg

_WIDTH = 720
_ROW_HEIGHT = 34
_MARGIN = 70
_HALF_ROW = 0.32


def metrics_svg(result: Result) -> str:
    """Return a drawing with a row a metric: each case's value, the mean, and where it passes."""
    rows = [(name, metric) for name, metric in result.metrics.items() if metric.value is not None]
    figure, (axes,) = new_figure(_WIDTH, _MARGIN + _ROW_HEIGHT * max(1, len(rows)))
    axes.set_xlim(-0.03, 1.03)
    axes.set_yticks(range(len(rows)), [f"{safe_line(name)}  {number(metric.value)}" for name, metric in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("value: cases as circles by how many have it, mean as a diamond, threshold as a line")
    for place, (name, metric) in enumerate(rows):
        _draw_row(axes, place, metric, [record.metrics[name].value for record in result.records])
    described = ", ".join(f"{name} {number(metric.value)}" for name, metric in rows)
    return themed_svg(figure, "metrics", f"Values of each metric: {safe_line(described)}")


def labels_svg(result: Result) -> str:
    """Return a drawing of how many cases have each failure label."""
    counts = {str(label): count for label, count in result.label_counts.items()}
    figure, (axes,) = new_figure(_WIDTH, _MARGIN + _ROW_HEIGHT * max(1, len(counts)))
    axes.barh(range(len(counts)), list(counts.values()), color=BAD, height=0.6)
    axes.set_yticks(range(len(counts)), [f"{label}  {count}" for label, count in counts.items()])
    axes.set_ylim(len(counts) - 0.4, -0.6)
    axes.set_xlim(0, len(result.records))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("cases")
    return themed_svg(figure, "labels", "Cases by failure label: " + ", ".join(f"{k} {v}" for k, v in counts.items()))


def _draw_row(axes: Axes, place: int, metric: MetricResult, values: list[float | None]) -> None:
    counts = Counter(round(value, 3) for value in values if value is not None)
    sizes = [20 + 160 * count / len(values) for count in counts.values()]
    axes.scatter(list(counts), [place] * len(counts), s=sizes, color=MUTED, alpha=0.45, linewidths=0)
    mean = metric.value if metric.value is not None else 0.0
    colour = BAD if metric.outcome is Outcome.FAIL else ACCENT
    axes.scatter([mean], [place], s=60, marker="D", color=colour, zorder=3)
    axes.plot([metric.threshold] * 2, [place - _HALF_ROW, place + _HALF_ROW], color=INK, linewidth=1.6, zorder=2)

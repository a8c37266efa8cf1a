"""Stage latencies over time, one small drawing a stage."""

from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from ranktrail_diagnostics.latencies import TOTAL, Timeline
from ranktrail_diagnostics.words import milliseconds, stage_name
from ranktrail_plots import ACCENT, MUTED, new_figure, themed_svg

COLUMNS, ROWS = 4, 2
_WIDTH, _HEIGHT = 1_120, 300


def charted_stages(timeline: Timeline) -> list[str]:
    """Return the stages that are drawn: all together, then the slowest ones, slowest first."""
    slowest = sorted(timeline.stages, key=lambda stage: timeline.stages[stage].p50_us, reverse=True)
    return [TOTAL, *(stage for stage in slowest if stage != TOTAL)][: COLUMNS * ROWS]


def latency_chart(timeline: Timeline) -> Markup | None:
    """Return p50 and p95 over time; None where there is no Run to draw."""
    if not timeline.buckets:
        return None
    figure, axes = new_figure(_WIDTH, _HEIGHT, ROWS, COLUMNS)
    stages = charted_stages(timeline)
    for position, ax in enumerate(axes):
        if position < len(stages):
            _draw(ax, timeline, stages[position])
        else:
            ax.set_axis_off()
    description = f"p50 and p95 of {len(stages)} stages over time; the table below has the numbers"
    return Markup(themed_svg(figure, "latency", description))  # noqa: S704 - an SVG of ours


def _draw(ax: Axes, timeline: Timeline, stage: str) -> None:
    points = [(bucket.start, bucket.stages[stage]) for bucket in timeline.buckets if stage in bucket.stages]
    times: Any = [start + timeline.width / 2 for start, _ in points]
    p50 = [found.p50_us / 1_000 for _, found in points]
    p95 = [found.p95_us / 1_000 for _, found in points]
    ax.fill_between(times, p50, p95, color=ACCENT, alpha=0.12, linewidth=0)
    ax.plot(times, p95, color=MUTED, linewidth=1, linestyle=(0, (3, 2)), marker=".", markersize=3)
    ax.plot(times, p50, color=ACCENT, linewidth=1.6, marker=".", markersize=4)
    overall = timeline.stages[stage]
    name = "all stages" if stage == TOTAL else stage_name(stage)
    ax.set_title(f"{name}  {milliseconds(overall.p50_us)} / {milliseconds(overall.p95_us)} ms", loc="left")
    ax.set_ylim(0, max(p95) * 1.15 or 1)
    locator = AutoDateLocator(minticks=2, maxticks=4)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formatter = ConciseDateFormatter(locator, show_offset=False)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(formatter)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 5, 10]))

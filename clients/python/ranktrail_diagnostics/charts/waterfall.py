"""How one Run spent its time."""

from collections.abc import Sequence

from markupsafe import Markup

from ranktrail.trace.v1.trace_pb2 import StageLatency
from ranktrail_diagnostics.words import milliseconds, stage_name
from ranktrail_plots import ACCENT, BAD, MUTED, new_figure, themed_svg

_WIDTH, _ROW_HEIGHT, _MARGIN = 600, 22, 46
_ROOM_FOR_TEXT = 1.2


def waterfall(latencies: Sequence[StageLatency], failed_stage: str = "") -> Markup | None:
    """Return a bar a stage, each beginning where the one before ended; None where no stage ran."""
    if not latencies:
        return None
    figure, (ax,) = new_figure(_WIDTH, _MARGIN + _ROW_HEIGHT * len(latencies))
    total = sum(latency.duration_us for latency in latencies) / 1_000
    start = 0.0
    for row, latency in enumerate(latencies):
        duration = latency.duration_us / 1_000
        colour = BAD if latency.stage == failed_stage else ACCENT
        ax.barh(row, duration, left=start, height=0.56, color=colour)
        share = f"{duration / total:.0%}" if total else "0%"
        text = f"{milliseconds(latency.duration_us)} ms  {share}"
        end = (start + duration, row)
        ax.annotate(text, end, (4, 0), textcoords="offset points", va="center", fontsize=8.5, color=MUTED)
        start += duration
    ax.set_yticks(range(len(latencies)), [stage_name(latency.stage) for latency in latencies])
    ax.set_ylim(len(latencies) - 0.4, -0.6)
    ax.set_xlim(0, total * _ROOM_FOR_TEXT or 1)
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("milliseconds since the request")
    description = f"{len(latencies)} stages took {total:.1f} milliseconds; the table below has each"
    return Markup(themed_svg(figure, "waterfall", description))  # noqa: S704 - an SVG of ours

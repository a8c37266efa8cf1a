"""How many relevant judgments each stage still had."""

from collections.abc import Sequence

from markupsafe import Markup

from ranktrail_diagnostics.report_rows import Step
from ranktrail_plots import ACCENT, MUTED, new_figure, themed_svg

_WIDTH, _ROW_HEIGHT, _MARGIN = 600, 26, 16
_ROOM_FOR_TEXT = 1.2


def funnel_chart(steps: Sequence[Step]) -> Markup | None:
    """Return a bar a stage; None without a relevant judgment."""
    total = steps[0].count
    if not total:
        return None
    figure, (ax,) = new_figure(_WIDTH, _MARGIN + _ROW_HEIGHT * len(steps))
    for row, step in enumerate(steps):
        ax.barh(row, step.count, height=0.6, color=ACCENT)
        text, end = f"{step.count:,}  {step.share:.0%}", (step.count, row)
        ax.annotate(text, end, (5, 0), textcoords="offset points", va="center", fontsize=8.5, color=MUTED)
    ax.set_yticks(range(len(steps)), [step.name for step in steps])
    ax.set_ylim(len(steps) - 0.4, -0.6)
    ax.set_xlim(0, total * _ROOM_FOR_TEXT)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    description = f"of {total} relevant judgments {steps[-1].count} were returned; the table below has each stage"
    return Markup(themed_svg(figure, "funnel", description))  # noqa: S704 - an SVG of ours

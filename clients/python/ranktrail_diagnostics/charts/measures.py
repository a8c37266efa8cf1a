"""The variants side by side, a panel a measure."""

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes

from ranktrail_client.trace_words import optional
from ranktrail_diagnostics.report_rows import MeasureRow
from ranktrail_plots import INK, MUTED, SERIES, new_figure, themed_svg

DRAWN = ("nDCG@10", "R@20", "RR", "Judged@10")
_WIDTH, _HEIGHT = 980, 190
_ROOM_FOR_TEXT = 1.24


def measures_chart(rows: Sequence[MeasureRow], variants: Sequence[str]) -> Markup | None:
    """Return a bar a variant and measure, with the bounds of nDCG@10 as a line; None where nothing is defined."""
    drawn = [row for row in rows if row.measure in DRAWN and any(one.HasField("mean") for one in row.means)]
    if not drawn:
        return None
    figure, axes = new_figure(_WIDTH, _HEIGHT, 1, len(drawn))
    for column, (ax, row) in enumerate(zip(axes, drawn, strict=True)):
        _draw(ax, row)
        ax.set_yticks(range(len(variants)), variants if column == 0 else [""] * len(variants))
    description = f"{len(drawn)} measures of {len(variants)} variants; the table below has each"
    return Markup(themed_svg(figure, "measures", description))  # noqa: S704 - an SVG of ours


def _draw(ax: Axes, row: MeasureRow) -> None:
    for place, one in enumerate(row.means):
        mean, low, high = (optional(one, name) for name in ("mean", "low", "high"))
        if mean is None:
            continue
        ax.barh(place, mean, height=0.56, color=SERIES[place % len(SERIES)])
        if low is not None and high is not None:
            ax.plot((low, high), (place, place), color=INK, lw=1.2, marker="|", ms=7)
        end = (max(mean, high or 0.0), place)
        ax.annotate(f"{mean:.3f}", end, (5, 0), textcoords="offset points", va="center", fontsize=8.5, color=MUTED)
    ax.set_title(row.measure)
    ax.set_xlim(0, _ROOM_FOR_TEXT)
    ax.set_xticks((0, 0.5, 1), ("0", "0.5", "1"))
    ax.set_ylim(len(row.means) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)

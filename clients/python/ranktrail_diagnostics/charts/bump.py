"""How each candidate's rank moved from stage to stage."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from ranktrail.trace.v1.trace_pb2 import Candidate
from ranktrail_client.safe_text import safe_line
from ranktrail_client.trace_words import optional
from ranktrail_plots import ACCENT, MUTED, new_figure, themed_svg

STAGES = (
    ("bm25_rank", "BM25"),
    ("dense_rank", "dense"),
    ("rrf_rank", "fusion"),
    ("reranker_rank", "reranker"),
    ("final_rank", "final"),
)
TICKS = (1, 2, 3, 5, 8, 12, 24, 40, 60, 90, 120, 200, 300, 500)
_WIDTH, _HEIGHT = 600, 420
_LABEL_CHARACTERS = 28
# Distance of two labels on the square-root scale, as a share of the whole axis.
_LABEL_GAP = 0.032


def bump_chart(candidates: Sequence[Candidate]) -> Markup | None:
    """Return a line a candidate through its rank in every stage; None where no candidate has two ranks.

    The lines of selected candidates stand out; a stage that did not see a candidate is left out of its line, dotted.
    """
    lines = [(candidate, _points(candidate)) for candidate in candidates]
    lowest = max((rank for _, points in lines for _, rank in points), default=0)
    if not any(len(points) > 1 for _, points in lines):
        return None
    figure, (ax,) = new_figure(_WIDTH, _HEIGHT)
    ax.set_yscale("function", functions=(np.sqrt, np.square))
    for position, (candidate, points) in enumerate(lines):
        _draw(ax, points, candidate.selected, f"candidate-{position}")
    ax.set_ylim(lowest + 1, 0.6)
    ax.set_yticks([tick for tick in TICKS if tick <= lowest], [str(tick) for tick in TICKS if tick <= lowest])
    ax.minorticks_off()
    ax.set_xlim(-0.15, len(STAGES) - 1 + 0.15)
    ax.set_xticks(range(len(STAGES)), [name for _, name in STAGES])
    ax.xaxis.set_ticks_position("top")
    ax.spines["bottom"].set_visible(False)
    ax.set_ylabel("rank")
    _label(ax, [candidate for candidate in candidates if candidate.selected], lowest)
    description = f"ranks of {len(candidates)} candidates in {len(STAGES)} stages; the table of candidates has each"
    return Markup(themed_svg(figure, "bump", description))  # noqa: S704 - an SVG of ours


def _points(candidate: Candidate) -> list[tuple[int, int]]:
    ranks = [(column, optional(candidate, field)) for column, (field, _) in enumerate(STAGES)]
    return [(column, rank) for column, rank in ranks if rank is not None]


def _draw(ax: Axes, points: Sequence[tuple[int, int]], is_selected: bool, mark: str) -> None:
    colour, width, alpha = (ACCENT, 1.8, 0.95) if is_selected else (MUTED, 0.8, 0.35)
    order = 3 if is_selected else 2
    for (left, _), (right, _) in pairwise(points):
        pair = [point for point in points if point[0] in {left, right}]
        style = "-" if right == left + 1 else ":"
        ax.plot(*zip(*pair, strict=True), color=colour, lw=width, alpha=alpha, ls=style, zorder=order, gid=mark)
    if points:
        ax.plot(*zip(*points, strict=True), "o", ms=3.2 if is_selected else 1.8, color=colour, alpha=alpha, gid=mark)


def _label(ax: Axes, selected: Sequence[Candidate], lowest: int) -> None:
    """Name the selected candidates at the right edge, each a line below the one before."""
    top, height = float(np.sqrt(0.6)), float(np.sqrt(lowest + 1) - np.sqrt(0.6))
    free = 0.0
    for candidate in sorted(selected, key=lambda one: one.final_rank):
        wanted = (float(np.sqrt(candidate.final_rank)) - top) / height
        free = max(wanted, free)
        name = safe_line(" › ".join((candidate.path.rpartition("/")[2], *candidate.heading_path[-1:])))  # noqa: RUF001 - it stands between headings
        short = name if len(name) <= _LABEL_CHARACTERS else name[: _LABEL_CHARACTERS - 1] + "…"
        ax.annotate(
            f"{candidate.final_rank}  {short}",
            (1.0, 1 - wanted),
            (1.02, 1 - free),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
        )
        free += _LABEL_GAP

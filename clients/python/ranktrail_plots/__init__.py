"""Plots that suit light and dark pages: drawn by matplotlib as SVG, coloured by the page's own style sheet."""

from ranktrail_plots.palette import ACCENT, BAD, GRID, INK, MUTED, SERIES
from ranktrail_plots.themed_svg import new_figure, style_sheet, themed_svg

__all__ = ["ACCENT", "BAD", "GRID", "INK", "MUTED", "SERIES", "new_figure", "style_sheet", "themed_svg"]

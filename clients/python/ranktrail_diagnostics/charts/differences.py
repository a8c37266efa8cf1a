"""Case by case, how much better or worse one variant is than another."""

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from ranktrail_diagnostics.report_rows import CaseDifference
from ranktrail_plots import ACCENT, BAD, MUTED, new_figure, themed_svg

_WIDTH, _HEIGHT = 980, 220
_LEAST_SPAN = 0.1


def differences_chart(differences: Sequence[CaseDifference], measure: str) -> Markup | None:
    """Return a step a case, in the order given; above zero the variant is better. None without a case."""
    if not differences:
        return None
    values = np.array([one.difference for one in differences])
    figure, (ax,) = new_figure(_WIDTH, _HEIGHT)
    edges = np.arange(len(values) + 1) + 0.5
    ax.stairs(np.maximum(values, 0), edges, fill=True, color=ACCENT)
    ax.stairs(np.minimum(values, 0), edges, fill=True, color=BAD)
    ax.axhline(0, color=MUTED, lw=0.8)
    span = max(float(np.abs(values).max()), _LEAST_SPAN) * 1.08
    ax.set_ylim(-span, span)
    ax.set_xlim(0.5, len(values) + 0.5)
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    ax.grid(axis="x", visible=False)
    ax.set_ylabel(f"difference in {measure}")
    ax.set_xlabel("cases, largest gain first")
    better, worse = int((values > 0).sum()), int((values < 0).sum())
    description = f"{len(values)} cases: {better} better, {worse} worse; the table below has each"
    return Markup(themed_svg(figure, "differences", description))  # noqa: S704 - an SVG of ours

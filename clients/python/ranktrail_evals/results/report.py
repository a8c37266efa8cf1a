"""A result as one HTML page that needs nothing else: no script, no network, and data as text only."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ranktrail_client.safe_text import safe_block
from ranktrail_evals.gate import DEFINITIONS
from ranktrail_evals.results import words
from ranktrail_evals.results.model import GateExit, Result
from ranktrail_evals.results.plots import labels_svg, metrics_svg
from ranktrail_plots import style_sheet

_VERDICTS = {
    GateExit.PASSED: "every required metric passes",
    GateExit.FAILED: "a required metric misses its threshold",
    GateExit.INCOMPLETE: "something required has no value",
}


def html_report(result: Result) -> str:
    """Return the page."""
    return page(
        "report.html",
        result=result,
        verdict=_VERDICTS[result.exit_code],
        scored=[name for name, metric in result.metrics.items() if metric.scored],
        words=words,
        definitions=DEFINITIONS,
        metrics_svg=Markup(metrics_svg(result)),  # noqa: S704 - matplotlib writes its labels as text
        labels_svg=Markup(labels_svg(result)) if result.label_counts else "",  # noqa: S704 - as above
    )


def page(template: str, **values: Any) -> str:
    """Return a template with values in it, and with the style of every page."""
    style = style_sheet() + files("ranktrail_evals.results").joinpath("templates/report.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    marked = Markup(style)  # noqa: S704 - two sheets of ours, no data
    return _environment().get_template(template).render(**values, style=marked, style_digest=digest)


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("ranktrail_evals.results"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _safe(value: Any) -> Any:
    return safe_block(value) if isinstance(value, str) and not isinstance(value, Markup) else value

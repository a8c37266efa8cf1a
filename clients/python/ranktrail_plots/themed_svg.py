"""Figures, and the SVG that becomes of them.

A page's Content-Security-Policy allows no style attribute, and one drawing is to suit both themes. So every declaration
that matplotlib writes becomes a presentation attribute, every colour of the palette a class, and every id that nothing
refers to goes, so that several drawings may stand in one page.
"""

import io
import logging
import threading
import warnings
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ranktrail_plots.palette import GRID, INK, MUTED, ROLES

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PROPERTIES = {"fill": "fill", "stroke": "line"}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read aloud, found and copied
    "text.parse_math": False,  # a dollar sign in a query is a dollar sign
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
# matplotlib's settings are the process's; its fonts and caches are no thread's own.
_lock = threading.Lock()
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure of so many CSS pixels, and its axes row by row."""
    with _lock, mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def themed_svg(figure: Figure, name: str, description: str) -> str:
    """Return `figure` as an `svg` element. `name` is unique in the page, `description` what a screen reader says.

    An artist's gid becomes the attribute data-mark.
    """
    gids = {artist.get_gid() for artist in figure.findobj() if artist.get_gid()}
    root = ET.fromstring(_drawn(figure, name))  # noqa: S314 - matplotlib's, made above
    referred = {reference for element in root.iter() for reference in _references(element)}
    for element in root.iter():
        _restyle(element)
        _rename(element, name, referred, gids)
    for parent in root.iter():
        for child in [child for child in parent if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}]:
            parent.remove(child)
    root.attrib.pop("width")
    root.attrib.pop("height")
    root.attrib |= {"class": "plot", "role": "img", "aria-label": description}
    return ET.tostring(root, encoding="unicode")


def style_sheet() -> str:
    """Return the CSS that colours the drawings, for a page that takes no other."""
    return files("ranktrail_plots").joinpath("plots.css").read_text(encoding="utf-8")


def _drawn(figure: Figure, name: str) -> str:
    target = io.StringIO()
    with _lock, mpl.rc_context({**_SETTINGS, "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a glyph that this machine's font lacks is the browser's to find
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return target.getvalue()


def _restyle(element: ET.Element) -> None:
    classes = []
    for declaration in filter(None, map(str.strip, element.attrib.pop("style", "").split(";"))):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        role = ROLES.get(value)
        if key in _PROPERTIES and role is not None:
            classes.append(f"{_PROPERTIES[key]}-{role}")
        elif key not in {"font-family", "font"}:
            element.set(key, value)
    if element.tag == f"{{{_SVG}}}text" and not classes:
        classes.append("fill-ink")
    if classes:
        element.set("class", " ".join(classes))


def _rename(element: ET.Element, name: str, referred: set[str], gids: set[str | None]) -> None:
    for key, value in element.attrib.items():
        if value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value[5:]}")
    if _HREF in element.attrib:
        element.set("href", f"#{name}-{element.attrib.pop(_HREF)[1:]}")
    own = element.attrib.pop("id", None)
    if own in referred:
        element.set("id", f"{name}-{own}")
    elif own in gids:
        element.set("data-mark", str(own))


def _references(element: ET.Element) -> list[str]:
    found = [value[5:-1] for value in element.attrib.values() if value.startswith("url(#")]
    return [*found, element.attrib[_HREF][1:]] if _HREF in element.attrib else found


ET.register_namespace("", _SVG)

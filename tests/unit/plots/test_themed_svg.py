"""Drawings that suit light and dark pages."""

import re
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from ranktrail_plots import ACCENT, MUTED, SERIES, new_figure, style_sheet, themed_svg
from ranktrail_plots.palette import ROLES

XML_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=30)


def drawn(name: str = "plot", label: str = "a label") -> str:
    figure, (ax,) = new_figure(300, 200)
    ax.plot([1, 2, 3], [3, 1, 2], color=ACCENT, marker="o", gid="line-1")
    ax.fill_between([1, 2, 3], [1, 1, 1], color=SERIES[0], alpha=0.3)
    ax.text(1, 1, label, color=MUTED)
    return themed_svg(figure, name, "what it shows")


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - made here


def test_every_colour_is_a_class_and_nothing_is_a_style() -> None:
    svg = drawn()
    assert "style" not in svg
    assert not re.findall(r'(?:fill|stroke)="#0100', svg)
    assert {"line-accent", "fill-accent", "fill-series-1", "fill-muted"} <= set(re.findall(r"[a-z]+-[a-z0-9-]+", svg))


def test_two_drawings_in_one_page_share_no_id_and_refer_to_their_own() -> None:
    ids = [set(re.findall(r' id="([^"]+)"', drawn(name))) for name in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    for name, known in zip(("one", "two"), ids, strict=True):
        svg = drawn(name)
        assert set(re.findall(r'href="#([^"]+)"', svg)) | set(re.findall(r"url\(#([^)]+)\)", svg)) <= known


def test_a_drawing_has_a_name_for_who_cannot_see_it_and_marks_for_scripts() -> None:
    root = parsed(drawn())
    assert (root.get("role"), root.get("aria-label")) == ("img", "what it shows")
    assert 'data-mark="line-1"' in drawn()


@settings(max_examples=10, deadline=None)
@given(XML_TEXT)
def test_a_label_stays_its_text_whatever_it_holds(label: str) -> None:
    texts = ["".join(element.itertext()) for element in parsed(drawn(label=label)).iter() if "text" in element.tag]
    assert not label.strip() or label in texts or label.strip() in {text.strip() for text in texts}


def test_every_role_has_a_colour_in_the_style_sheet() -> None:
    for role in ROLES.values():
        assert f".fill-{role} " in style_sheet()
        assert f".line-{role} " in style_sheet()

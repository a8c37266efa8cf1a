"""A replay as one HTML page that needs nothing else, and as JUnit XML for CI."""

from xml.etree import ElementTree as ET

from markupsafe import Markup

from ranktrail_client.safe_text import safe_line
from ranktrail_evals.replay.model import Contestant, Decision, Measure, Replay
from ranktrail_evals.results import words
from ranktrail_evals.results.junit import document
from ranktrail_evals.results.model import Outcome
from ranktrail_evals.results.report import page
from ranktrail_plots import ACCENT, BAD, INK, MUTED, new_figure, themed_svg

_WIDTH = 720
_ROW_HEIGHT = 26
_MARGIN = 70


def replay_page(replay: Replay) -> str:
    """Return the page."""
    drawings = [
        (one, Markup(_differences_svg(one, place)))  # noqa: S704 - matplotlib writes its labels as text
        for place, one in enumerate(replay.contestants)
    ]
    return page("replay.html", replay=replay, contestants=drawings, measures=list(Measure), words=words)


def replay_junit(replay: Replay) -> str:
    """Return a document with a test case for each condition of each profile, and one for each profile's ranking."""
    suite = ET.Element("testsuite", name="replay", timestamp=replay.create_time.removesuffix("Z"))
    for one in replay.contestants:
        case = ET.SubElement(suite, "testcase", classname=f"evals.replay.{safe_line(one.profile)}", name="ranked")
        if one.failed:
            ET.SubElement(case, "error", message=f"{len(one.failed)} cases were not ranked").text = safe_line(
                "; ".join(f"{failed.case_id} {failed.failure}" for failed in one.failed)
            )
    for decision in replay.decisions:
        _add_decision(suite, decision)
    return document(suite)


def _add_decision(suite: ET.Element, decision: Decision) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"evals.replay.{safe_line(decision.profile)}",
        name=safe_line(decision.condition),
    )
    sentence = f"{decision.condition}: {words.number(decision.value)}, bar {words.number(decision.bar)}"
    if decision.outcome is Outcome.FAIL:
        ET.SubElement(case, "failure", message=safe_line(sentence))
    elif decision.outcome is Outcome.UNAVAILABLE:
        ET.SubElement(case, "error", message=safe_line(sentence))


def _differences_svg(contestant: Contestant, place: int) -> str:
    """Return a drawing with a row a comparison: the mean difference and its interval, beside none."""
    rows = [(one, one.difference) for one in contestant.differences if one.difference is not None]
    figure, (axes,) = new_figure(_WIDTH, _MARGIN + _ROW_HEIGHT * max(1, len(rows)))
    axes.set_yticks(range(len(rows)), [f"{one.order} {one.measure}" for one, _ in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_xlabel("now - before: mean and 95% interval")
    for row, (one, difference) in enumerate(rows):
        colour = BAD if one.is_drop else ACCENT
        if one.interval is not None:
            axes.plot(one.interval, [row, row], color=MUTED, linewidth=2)
        axes.scatter([difference], [row], s=40, marker="D", color=colour, zorder=3)
    described = ", ".join(f"{one.order} {one.measure} {difference:+.4f}" for one, difference in rows)
    return themed_svg(figure, f"differences-{place}", safe_line(f"Differences of {contestant.profile}: {described}"))

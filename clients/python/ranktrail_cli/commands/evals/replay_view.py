"""A replay as text."""

from ranktrail_cli.output import Output
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import counted
from ranktrail_evals.replay.model import CaseChange, Contestant, Replay
from ranktrail_evals.results.words import interval, number, p_value, signed

SHOWN_CASES = 20


def print_replay(output: Output, replay: Replay) -> None:
    """Print each profile's differences and the cases that they come from, and then what decided."""
    output.line(f"{counted(replay.case_count, 'case')}, {replay.scored_count} with a relevant judgment")
    for one in replay.contestants:
        output.line()
        _print_contestant(output, one)
    output.line()
    for decision in replay.decisions:
        bar = "" if decision.bar is None else f", bar {number(decision.bar)}"
        output.note(f"{decision.outcome}: {decision.profile} {decision.condition}, {number(decision.value)}{bar}")


def _print_contestant(output: Output, one: Contestant) -> None:
    output.line(f"profile {one.profile}")
    output.table(_differences(one))
    output.line("judged units: " + ", ".join(f"{name} {count}" for name, count in one.judgments.items()))
    for change in one.revisions:
        output.line(f"{change.revision}: {', '.join(change.before)}, now {', '.join(change.now)}")
    for failed in one.failed:
        output.line(f"not ranked  {failed.case_id}  {failed.failure}")
    changes = sorted(one.changes, key=_severity)
    for case in changes[:SHOWN_CASES]:
        _print_case(output, case)
    if len(changes) > SHOWN_CASES:
        output.line(f"and {counted(len(changes) - SHOWN_CASES, 'further case')}, in the result's files")


def _severity(case: CaseChange) -> tuple[float, str]:
    return sum(one or 0.0 for one in case.differences.values()), case.case_id


def _print_case(output: Output, case: CaseChange) -> None:
    changes = "  ".join(f"{measure} {signed(value)}" for measure, value in case.differences.items())
    output.line(f"{case.case_id}  {changes}")
    for one in case.lost:
        output.line(f"  lost    {one.judgment}  {one.stage}")
    for one in case.gained:
        output.line(f"  gained  {one.judgment}  was {one.stage}")


def _differences(contestant: Contestant) -> Table:
    coverage = {one.order: one for one in contestant.coverage}
    table = Table(
        (
            Column("order"),
            Column("measure"),
            Column("before", is_number=True),
            Column("now", is_number=True),
            Column("difference", is_number=True),
            Column("95% interval", yields=1),
            Column("p", is_number=True),
            Column("better", is_number=True),
            Column("worse", is_number=True),
            Column("paired", is_number=True, yields=2),
            Column("judged@10", yields=3),
        )
    )
    for one in contestant.differences:
        judged = coverage[one.order]
        table.add(
            one.order,
            one.measure,
            number(one.baseline),
            number(one.value),
            signed(one.difference),
            interval(one.interval),
            p_value(one.p_value),
            str(one.better),
            str(one.worse),
            str(one.paired),
            f"{number(judged.baseline)}, now {number(judged.value)}",
            style="bold" if one.is_drop else "",
        )
    return table

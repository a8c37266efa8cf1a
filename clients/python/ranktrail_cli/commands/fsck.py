"""`ranktrail fsck`: whether everything that is kept is whole."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.exits import Exit
from ranktrail_cli.inspection import inspected
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.storage_check import CheckReport, checked, print_problems
from ranktrail_cli.trace_view import counted
from ranktrail_client.message_json import message_json


@click.command(
    epilog=examples(
        "ranktrail fsck",
        "ranktrail fsck --repair",
        "ranktrail fsck --data-dir /tmp/ranktrail --json",
    )
)
@click.option("--repair", is_flag=True, help="Put right what can be put right, and touch nothing else.")
@with_session
def fsck(session: Session, repair: bool) -> None:
    """Check every body, reference, count and digest that history keeps, and the ranker's commits and journal.

    Services that run are asked and go on with their work; for one that does not, a process runs meanwhile. A repair
    gives bodies without a row their row, removes what killed processes left unfinished, and corrects modes.

    Exits with 0 when nothing is wrong, or all of it was repaired, 1 when something is, and 6 when not everything could
    be checked.
    """
    with inspected(session) as client, shown_progress("checking ") as progress:
        report = checked(client, progress, repair=repair)
    if session.output.as_json:
        session.output.document(_json(session, report, repair=repair))
    print_problems(session.output, report.problems)
    session.output.line(_summary(report))
    if report.left:
        raise click.exceptions.Exit(Exit.NEGATIVE)


def _summary(report: CheckReport) -> str:
    looked_at = ", ".join(_phase_words(report))
    if not report.problems:
        return f"checked {looked_at}: nothing is wrong"
    repaired = len(report.problems) - len(report.left)
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Counter(p.kind for p in report.problems).items()))
    return f"checked {looked_at}: {counted(len(report.problems), 'problem')}, {repaired} repaired ({kinds})"


def _phase_words(report: CheckReport) -> Iterator[str]:
    for service, phases in report.checked.items():
        yield f"{service}'s " + ", ".join(f"{phase} {count}" for phase, count in phases.items())


def _json(session: Session, report: CheckReport, *, repair: bool) -> dict[str, Any]:
    return {
        "data_dir": str(session.data_dir),
        "repair": repair,
        "clean": not report.left,
        "checked": report.checked,
        "problems": [message_json(problem) for problem in report.problems],
    }

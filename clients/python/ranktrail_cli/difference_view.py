"""A three-way difference of judgments as a person reads it."""

from ranktrail_cli.case_view import judgment_words
from ranktrail_cli.output import Output
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import counted, seconds_of
from ranktrail_client.judgment_difference import Judged, JudgmentDifference, SubjectDifference

_COLUMNS = (Column("change"), Column("base"), Column("theirs"), Column("mine"), Column("of", yields=1))


def print_difference(output: Output, difference: JudgmentDifference) -> None:
    """Print who saved meanwhile, and each subject that somebody changed."""
    output.line(standing_words(difference))
    if not difference.changed:
        output.line("nobody changed anything")
        return
    table = Table(_COLUMNS)
    for one in difference.changed:
        sides = (_words(one, judged) for judged in (one.base, one.theirs, one.mine))
        table.add(one.change, *sides, subject_words(one), style="bold" if one.change == "clash" else "")
    output.table(table)
    clashes = counted(len(difference.clashes), "subject") if difference.clashes else "no subject"
    output.line(f"{clashes} changed by both sides in different ways")


def standing_words(difference: JudgmentDifference) -> str:
    """Return which version stands, whose it is, and which one was expected."""
    author = f" by {difference.author}" if difference.author else ""
    standing = f"version {difference.current_version}{author} stands since {seconds_of(difference.judge_time)} UTC"
    never = "" if difference.has_base else ", which never was"
    return f"case {difference.case_id}: {standing}; yours began from version {difference.expected_version}{never}"


def subject_words(one: SubjectDifference) -> str:
    """Return the unit, or the resource where it is of the whole of one."""
    resource_id, unit_key = one.subject
    return unit_key or f"{resource_id} (whole resource)"


def _words(one: SubjectDifference, judged: Judged) -> str:
    """Return a judgment, and what else tells it from the others of its subject."""
    words = judgment_words(judged)
    if judged is None:
        return words
    others = [other for other in (one.base, one.theirs, one.mine) if other is not None]
    if any(other.notes != judged.notes for other in others):
        words += f", notes {judged.notes!r}"
    if any(other.missed != judged.missed for other in others):
        words += ", missed" if judged.missed else ", not missed"
    return words

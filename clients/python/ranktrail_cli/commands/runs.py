"""`ranktrail runs`: what was asked, and how each answer came about."""

import itertools

import click

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_cli.commands.runs_clear import clear_runs
from ranktrail_cli.completing import ProjectField, RunField
from ranktrail_cli.examples import examples
from ranktrail_cli.fields import RUN_STATES, TextField
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.trace_view import created, print_run, runs_table, shortened, state_word
from ranktrail_client.message_json import enum_number, message_json
from ranktrail_client.paging import LARGEST_PAGE, pages
from ranktrail_client.run_delivery import delivered_run


@click.group(
    epilog=examples(
        "ranktrail runs list --project docs --limit 10",
        "ranktrail runs show 01JD5Z6J8QW3N7M2K4R9T0V1XY",
        "ranktrail runs watch --json",
        "ranktrail runs clear --dry-run",
    )
)
def runs() -> None:
    """Show what was asked, and how each answer came about."""


runs.add_command(clear_runs)


@runs.command(
    "list",
    epilog=examples(
        "ranktrail runs list",
        "ranktrail runs list --project docs --state failed --json",
        'ranktrail runs list --query "roll back" --limit 5',
    ),
)
@click.option("--project", type=ProjectField("--project"), default="", help="Only this project's.")
@click.option("--state", type=click.Choice(RUN_STATES), help="Only Runs in this state.")
@click.option("--query", type=TextField("--query"), default="", help="Only Runs whose query holds this text.")
@click.option("--pinned/--unpinned", default=None, help="Only Runs that a case pins, or only those that none does.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@with_session
def list_runs(session: Session, project: str, state: str | None, query: str, pinned: bool | None, limit: int) -> None:
    """List Runs, newest first."""
    number = 0 if state is None else enum_number(pb.RetrievalRun.State.DESCRIPTOR, state)
    request = pb.ListRetrievalRunsRequest(
        page_size=min(limit, LARGEST_PAGE),
        project_id=project,
        state=pb.RetrievalRun.State.ValueType(number),
        query_text=query,
        pinned=pinned,
    )
    with session.connect("history") as client:
        found = (run for page in pages(client.history.list_retrieval_runs, request) for run in page.runs)
        listed = list(itertools.islice(found, limit))
    if session.output.as_json:
        session.output.document({"runs": [message_json(run) for run in listed]})
    elif not listed:
        session.output.line("no Runs")
    else:
        session.output.table(runs_table(listed))


@runs.command(
    "show",
    epilog=examples(
        "ranktrail runs show 01JD5Z6J8QW3N7M2K4R9T0V1XY",
        "ranktrail runs show 01JD5Z6J8QW3N7M2K4R9T0V1XY --json",
    ),
)
@click.argument("run_id", metavar="RUN", type=RunField("run_id"))
@with_session
def show_run(session: Session, run_id: str) -> None:
    """Show one Run with every candidate: its rank and score in each stage, and why it was selected or not.

    A Run that the ranker has still to deliver is waited for, for some seconds.
    """
    with session.connect("history") as client:
        found = delivered_run(client, run_id)
    if session.output.as_json:
        session.output.document(message_json(found))
    else:
        print_run(session.output, found.run, found.candidates)


@runs.command(
    "watch",
    epilog=examples(
        "ranktrail runs watch",
        "ranktrail runs watch --project docs --json",
    ),
)
@click.option("--project", type=ProjectField("--project"), default="", help="Only this project's.")
@click.option("--after", type=click.IntRange(min=0), help="First what changed after this change_sequence.")
@with_session
def watch_runs(session: Session, project: str, after: int | None) -> None:
    """Print each Run as its state changes, until Ctrl-C.

    With --json, one line a change; the first has no Run and says that the watch is in place.
    """
    request = pb.WatchRetrievalRunsRequest(project_id=project, after_change_sequence=after)
    with session.connect("history") as client:
        try:
            for change in client.history.watch_retrieval_runs(request):
                _print_change(session, change)
        except KeyboardInterrupt:
            return


def _print_change(session: Session, change: pb.WatchRetrievalRunsResponse) -> None:
    if session.output.as_json:
        session.output.json_line(message_json(change))
    elif change.HasField("run"):
        run = change.run
        session.output.line(
            f"{created(run)}  {run.run_id}  {state_word(run):9}  {run.project_id}  {shortened(run.query)}"
        )
    else:
        session.output.remark("watching: Ctrl-C ends it")

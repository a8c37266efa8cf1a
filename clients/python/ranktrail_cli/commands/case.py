"""`ranktrail case`: Runs that are kept as evidence."""

import itertools
import time

import click

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail_cli.case_view import cases_table, print_case
from ranktrail_cli.completing import CaseField, ProjectField, RunField
from ranktrail_cli.confirmation import is_confirmed
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import TextField
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.trace_view import counted, shortened
from ranktrail_client.client import Client
from ranktrail_client.errors import RunNotFound
from ranktrail_client.message_json import message_json
from ranktrail_client.paging import LARGEST_PAGE, pages
from ranktrail_client.run_delivery import delivered_run

WAIT_SECONDS = 30.0
INT64_MAX = 2**63 - 1


@click.group(
    epilog=examples(
        "ranktrail case create 01JD5Z6J8QW3N7M2K4R9T0V1XY --category deploy",
        "ranktrail case list --project docs",
        "ranktrail case show 01JD5ZB0M3T8V6C1E9H2K7P4QR",
    )
)
def case() -> None:
    """Pin Runs as Evaluation Cases: a query, a frozen corpus, and what people judge of it."""


@case.command(
    epilog=examples(
        "ranktrail case create 01JD5Z6J8QW3N7M2K4R9T0V1XY",
        'ranktrail case create 01JD5Z6J8QW3N7M2K4R9T0V1XY --category deploy --notes "asked by support"',
    )
)
@click.argument("run_id", metavar="RUN", type=RunField("run_id"))
@click.option("--category", type=TextField("--category"), default="", help="A word to group cases by.")
@click.option("--notes", type=TextField("--notes"), default="", help="What people should know of it.")
@with_session
def create(session: Session, run_id: str, category: str, notes: str) -> None:
    """Pin a succeeded RUN as a case, with the exact memory that it ranked.

    A Run that is still running or being delivered is waited for, for half a minute. The same Run again is the same
    case, with the category and notes of the first time.
    """
    request = pb.CreateEvaluationCaseRequest(run_id=run_id, category=category, notes=notes)
    with session.connect("history") as client:
        _wait_for_end(session, client, run_id)
        created = client.evaluation.create_evaluation_case(request)
    if session.output.as_json:
        session.output.document(message_json(created))
    one = created.evaluation_case
    was = " was pinned before" if created.already_existed else ""
    session.output.line(f"case {one.case_id}{was}: {counted(one.resource_count, 'resource')}, {shortened(one.query)}")
    session.output.line(f"judge it with `ranktrail judge {one.case_id}`")


def _wait_for_end(session: Session, client: Client, run_id: str) -> None:
    """Return once the Run is terminal in history; raise CommandFailed when it is not in time."""

    def say() -> None:
        session.output.remark(f"Run {run_id} is on its way to history: waiting for it, at most {WAIT_SECONDS:.0f} s")

    late = CommandFailed(
        f"run_id {run_id!r} is not in history after {WAIT_SECONDS:.0f} s: see `ranktrail status`, then try again",
        Exit.INCOMPLETE,
    )
    begun = time.monotonic()
    try:
        found = delivered_run(client, run_id, WAIT_SECONDS, on_wait=say)
    except RunNotFound as error:
        if time.monotonic() - begun >= WAIT_SECONDS:
            raise late from error
        raise
    if found.run.state == history_pb2.RetrievalRun.STATE_RUNNING:
        raise late


@case.command(
    "list",
    epilog=examples(
        "ranktrail case list",
        "ranktrail case list --project docs --category deploy --limit 100 --json",
    ),
)
@click.option("--project", type=ProjectField("--project"), default="", help="Only this project's.")
@click.option("--category", type=TextField("--category"), default="", help="Only of this category.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@with_session
def list_cases(session: Session, project: str, category: str, limit: int) -> None:
    """List cases, newest first."""
    request = pb.ListEvaluationCasesRequest(page_size=min(limit, LARGEST_PAGE), project_id=project, category=category)
    with session.connect("history") as client:
        found = (
            one for page in pages(client.evaluation.list_evaluation_cases, request) for one in page.evaluation_cases
        )
        listed = list(itertools.islice(found, limit))
    if session.output.as_json:
        session.output.document({"evaluation_cases": [message_json(one) for one in listed]})
    elif not listed:
        session.output.line("no cases")
    else:
        session.output.table(cases_table(listed))


@case.command(
    epilog=examples(
        "ranktrail case show 01JD5ZB0M3T8V6C1E9H2K7P4QR",
        "ranktrail case show 01JD5ZB0M3T8V6C1E9H2K7P4QR --json",
    )
)
@click.argument("case_id", metavar="CASE", type=CaseField("case_id"))
@with_session
def show(session: Session, case_id: str) -> None:
    """Show one case: its query, its Run's trace with the judgments, its corpus and its measures."""
    with session.connect("history") as client:
        found = case_with_trace(client, case_id)
    if session.output.as_json:
        session.output.document(message_json(found))
    else:
        print_case(session.output, found)


def case_with_trace(client: Client, case_id: str) -> history_pb2.GetRetrievalRunResponse:
    """Return a case with its Run, judgments and measures, as one read of them."""
    pinned = client.evaluation.get_evaluation_case(pb.GetEvaluationCaseRequest(case_id=case_id)).evaluation_case
    return client.history.get_retrieval_run(history_pb2.GetRetrievalRunRequest(run_id=pinned.run_id))


@case.command(
    epilog=examples(
        "ranktrail case delete 01JD5ZB0M3T8V6C1E9H2K7P4QR",
        "ranktrail case delete 01JD5ZB0M3T8V6C1E9H2K7P4QR --expected-version 4 --yes",
    )
)
@click.argument("case_id", metavar="CASE", type=CaseField("case_id"))
@click.option(
    "--expected-version",
    metavar="N",
    type=click.IntRange(0, INT64_MAX),
    help="Only if its judgments have this version. Default: the one they have when the command starts.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_session
def delete(session: Session, case_id: str, expected_version: int | None, yes: bool) -> None:
    """Delete a case with every version of its judgments, and unpin its Run.

    Ends with 4, and deletes nothing, when somebody judged meanwhile.
    """
    with session.connect("history") as client:
        one = client.evaluation.get_evaluation_case(pb.GetEvaluationCaseRequest(case_id=case_id)).evaluation_case
        expected = one.judgment_version if expected_version is None else expected_version
        judged = f"{counted(one.judgment_count, 'judgment')}" + (
            f" by {one.judgment_author}" if one.judgment_author else ""
        )
        question = f"delete case {one.case_id} ({shortened(one.query)}; version {one.judgment_version}, {judged})"
        if not is_confirmed(session, question, is_given=yes):
            session.output.line("nothing was deleted")
            raise click.exceptions.Exit(Exit.NEGATIVE)
        client.evaluation.delete_evaluation_case(
            pb.DeleteEvaluationCaseRequest(case_id=case_id, expected_judgment_version=expected)
        )
    if session.output.as_json:
        session.output.document({"case_id": one.case_id, "judgment_version": expected})
    session.output.line(f"case {one.case_id} is deleted")

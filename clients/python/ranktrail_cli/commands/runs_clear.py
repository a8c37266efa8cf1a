"""`ranktrail runs clear`: history forgets what no case pins."""

import click

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_cli.completing import ProjectField
from ranktrail_cli.confirmation import is_confirmed
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import Exit
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.sizes import size_words
from ranktrail_cli.trace_view import counted
from ranktrail_client.message_json import message_json


@click.command(
    "clear",
    epilog=examples(
        "ranktrail runs clear --dry-run",
        "ranktrail runs clear --project docs",
        "ranktrail runs clear --project docs --yes --json",
    ),
)
@click.option("--project", type=ProjectField("--project", may_be_blank=False), help="Only this project's.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_session
def clear_runs(session: Session, project: str | None, dry_run: bool, yes: bool) -> None:
    """Delete Runs, of one project or of all, and the bodies that only they used.

    Runs that a case pins and Runs that are still running stay, and so does every memory.
    """
    request = pb.ClearRetrievalRunsRequest(project_id=project or "", dry_run=True)
    whose = "all projects" if project is None else f"project {project}"
    with session.connect("history") as client:
        removal = client.history.clear_retrieval_runs(request)
        if not dry_run:
            if not is_confirmed(session, f"delete {_words(removal)} of {whose}", is_given=yes):
                session.output.line("nothing was deleted")
                raise click.exceptions.Exit(Exit.NEGATIVE)
            request.dry_run = False
            removal = client.history.clear_retrieval_runs(request)
    if session.output.as_json:
        session.output.document({"project_id": project, "dry_run": dry_run, **message_json(removal)})
    session.output.line(f"{'would delete' if dry_run else 'deleted'} {_words(removal)} of {whose}")


def _words(removal: pb.ClearRetrievalRunsResponse) -> str:
    bodies = "1 body" if removal.deleted_blob_count == 1 else f"{removal.deleted_blob_count} bodies"
    return f"{counted(removal.deleted_run_count, 'Run')} and {bodies} ({size_words(removal.deleted_bytes)})"

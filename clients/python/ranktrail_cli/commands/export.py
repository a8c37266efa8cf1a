"""`ranktrail export`: the evaluation set as files."""

from contextlib import closing
from pathlib import Path

import click

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.byte_progress import shown_bytes
from ranktrail_cli.completing import CaseField, ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.exported_set import check_place, write_file, write_folder
from ranktrail_cli.fields import reason_of
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.sizes import size_words
from ranktrail_client.client import Client
from ranktrail_client.message_json import enum_number, enum_words

FORMATS = enum_words(pb.ExportEvaluationSetRequest.Format.DESCRIPTOR)
FOLDERS = frozenset({"trec", "beir"})


@click.command(
    epilog=examples(
        "ranktrail export --out docs.json --project docs",
        "ranktrail export --out runs --format trec",
        "ranktrail export --out spans.jsonl --format openinference --case 01JD5ZB0M3T8V6C1E9H2K7P4QR",
    )
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="The file to write; for trec and beir, the folder."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="fixture",
    show_default=True,
    help="fixture: one self-contained JSON document, which `ranktrail import` takes; trec: a folder of qrels, runs and "
    "topics; beir: a folder of corpus, queries and qrels; openinference: OTLP JSON lines.",
)
@click.option("--project", type=ProjectField("--project"), default="", help="Only this project's cases.")
@click.option("--case", "cases", multiple=True, type=CaseField("--case"), help="Only this case; may be repeated.")
@click.option("--force", is_flag=True, help="Replace an export that is there.")
@with_session
def export(session: Session, out: Path, form: str, project: str, cases: tuple[str, ...], force: bool) -> None:
    """Write cases, with everything they rest on, to a file or a folder.

    It appears when all of it is written and on disk; after a failure, what was there before is there still. Only its
    owner can read it.
    """
    check_place(out, is_folder=form in FOLDERS, force=force)
    number = enum_number(pb.ExportEvaluationSetRequest.Format.DESCRIPTOR, form)
    request = pb.ExportEvaluationSetRequest(
        project_id=project, case_ids=cases, format=pb.ExportEvaluationSetRequest.Format.ValueType(number)
    )
    with session.connect("history") as client:
        _check_project(client, project)
        size = _write(session, client, request, out, is_folder=form in FOLDERS)
    if session.output.as_json:
        session.output.document({"out": str(out), "format": form, "size_bytes": size})
    session.output.line(f"wrote {out}: {form}, {size_words(size)}")


def _check_project(client: Client, project: str) -> None:
    """Raise CommandFailed for a project without cases: an empty export would hide that its name is wrong."""
    request = pb.ListEvaluationCasesRequest(project_id=project, page_size=1)
    if project and not client.evaluation.list_evaluation_cases(request).evaluation_cases:
        raise CommandFailed(f"--project {project!r} has no cases: see `ranktrail case list`", Exit.REFUSED)


def _write(
    session: Session, client: Client, request: pb.ExportEvaluationSetRequest, out: Path, *, is_folder: bool
) -> int:
    contents = (frame.content for frame in client.evaluation.export_evaluation_set(request))
    try:
        with closing(shown_bytes(contents, "exported", session.output.remark)) as pieces:
            return write_folder(out, pieces) if is_folder else write_file(out, pieces)
    except OSError as error:
        raise CommandFailed(
            f"--out {str(out)!r} cannot be written ({reason_of(error)}): choose another place", Exit.REFUSED
        ) from error

"""`ranktrail import`: an exported set, or a test collection, becomes Evaluation Cases."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail_cli.collection_import import CollectionImport, ImportReport
from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import TextField, reason_of
from ranktrail_cli.output import Output
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.synchronisation import SEND_PHASE, Progress
from ranktrail_cli.trace_view import counted
from ranktrail_client.collections import Collection, read_beir, read_cranfield
from ranktrail_client.frames import MAX_FRAME_BYTES
from ranktrail_client.message_json import message_json

BEIR, CRANFIELD = FORMATS = ("beir", "cranfield")


@click.command(
    "import",
    epilog=examples(
        "ranktrail import cases.json",
        "ranktrail import scifact --project scifact --format beir --split test",
        "ranktrail import cranfield --project cranfield --format cranfield --json",
    ),
)
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--project", type=ProjectField("--project"), help="The project that a folder goes into.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What a folder holds.")
@click.option(
    "--split", type=TextField("--split"), help="Of BEIR, which qrels/SPLIT.tsv. Default: the only one, or test."
)
@with_session
def import_set(session: Session, source: Path, project: str | None, form: str | None, split: str | None) -> None:
    """Make Evaluation Cases of SOURCE.

    A file is a fixture that `ranktrail export` wrote; its cases keep project, ids, times and versions. A folder is a
    test collection: its documents become resources of the project, each under its own id, and each query is asked, and
    the Run pinned and judged. Choose a project of its own, where nothing else is ranked.

    All of SOURCE is checked before anything of it is kept. What is there already is not made again, so an import that
    was interrupted can be repeated.
    """
    if not source.is_dir():
        if not project is form is split is None:
            raise click.UsageError(f"{str(source)!r} is no folder: --project, --format and --split are for one")
        _import_fixture(session, source)
    elif project is None or form is None:
        raise click.UsageError("a folder needs --project and --format")
    else:
        _import_collection(session, _read(source, form, split), project)


def _read(folder: Path, form: str, split: str | None) -> Collection:
    if form == BEIR:
        return read_beir(folder, split)
    if split is not None:
        raise click.UsageError("--split is for --format beir")
    return read_cranfield(folder)


def _import_fixture(session: Session, file: Path) -> None:
    try:
        size = file.stat().st_size
        with session.connect("history") as client, shown_progress() as progress:
            imported = client.evaluation.import_evaluation_set(_frames(file, size, progress))
    except OSError as error:
        raise CommandFailed(
            f"{str(file)!r} cannot be read ({reason_of(error)}): name a fixture or a folder", Exit.REFUSED
        ) from error
    if session.output.as_json:
        session.output.document(message_json(imported))
    session.output.line(_cases_made(imported.imported_case_count, imported.already_existing_case_count))


def _frames(file: Path, size: int, progress: Progress) -> Iterator[pb.ImportEvaluationSetRequest]:
    with file.open("rb") as opened:
        while content := opened.read(MAX_FRAME_BYTES):
            yield pb.ImportEvaluationSetRequest(content=content)
            progress.step(SEND_PHASE, opened.tell(), size)


def _import_collection(session: Session, collection: Collection, project: str) -> None:
    with session.connect("ranker", "history") as client, shown_progress() as progress:
        importing = CollectionImport(client, collection, project, progress)
        try:
            importing.run()
        except KeyboardInterrupt:
            made = counted(len(importing.report.cases), "case")
            session.output.remark(f"interrupted with {made} done: import again to go on")
            raise
    if session.output.as_json:
        session.output.document(report_json(importing.report))
    _print(session.output, importing.report)


def _print(output: Output, report: ImportReport) -> None:
    made = [case for case in report.cases if not case.already_existed]
    output.line(
        f"{counted(report.document_count, 'document')} in project {report.project_id}, "
        f"{counted(report.unit_count, 'unit')} in its index"
    )
    output.line(_cases_made(len(made), len(report.cases) - len(made)))
    judgments = counted(sum(case.judgment_count for case in report.cases), "judgment")
    missed = sum(case.missed_count for case in report.cases)
    output.line(f"{judgments} written, {missed} of documents that were not recalled")
    if report.other_resource_count:
        output.remark(f"the memory also has {counted(report.other_resource_count, 'resource')} of others, ranked too")
    if report.other_case_count:
        output.remark(f"the project also has {counted(report.other_case_count, 'case')} of others, reported too")


def _cases_made(made: int, existing: int) -> str:
    return f"{counted(made, 'case')} imported, {existing} there already"


def report_json(report: ImportReport) -> dict[str, Any]:
    """Return an import as a JSON value."""
    existing = sum(case.already_existed for case in report.cases)
    counts = {"imported_case_count": len(report.cases) - existing, "already_existing_case_count": existing}
    return {**counts, **asdict(report)}

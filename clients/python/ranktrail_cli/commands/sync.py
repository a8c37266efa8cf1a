"""`ranktrail sync`: a folder becomes a layer of a project's memory."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import LAYERS, TextField, layer_number, reason_of
from ranktrail_cli.folder import is_ignored
from ranktrail_cli.output import Output
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.sizes import size_words
from ranktrail_cli.synchronisation import DEFAULT_KIND, SyncReport, Target, sync_folder
from ranktrail_cli.trace_view import counted
from ranktrail_client.client import Client
from ranktrail_client.errors import RanktrailError

# How long a watch waits before it tries a sync that failed once more.
RETRY_MILLISECONDS = 2_000


@click.command(
    epilog=examples(
        "ranktrail sync notes --project docs",
        "ranktrail sync handbook --project docs --layer organization --prune",
        "ranktrail sync src --project docs --layer draft --kind code --watch",
    )
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--project", required=True, type=ProjectField("project"), help="The project whose memory it is.")
@click.option("--layer", type=click.Choice(LAYERS), default="project", show_default=True, help="Where to commit.")
@click.option(
    "--kind",
    type=TextField("--kind", may_be_blank=False),
    default=DEFAULT_KIND,
    show_default=True,
    help="Kind of the resources.",
)
@click.option(
    "--prune", is_flag=True, help="Delete resources of the layer that are no longer files. Without it, they stay."
)
@click.option("--watch", is_flag=True, help="Sync again whenever something changes, until Ctrl-C.")
@with_session
def sync(session: Session, folder: Path, project: str, layer: str, kind: str, prune: bool, watch: bool) -> None:
    """Put FOLDER into a layer of a project's memory.

    Only resources that changed travel, and the command returns when the index is ready; before it encodes, it says
    about how much the token vectors will take. Each file is a resource whose id and path are its path below FOLDER.
    Hidden files and version control folders are ignored; a file that cannot be taken, and a link that leaves FOLDER, is
    named and skipped, and is never pruned. Without --prune, a resource whose file was deleted stays in the memory.
    """
    target = Target(project, layer_number(layer), kind, prune)
    with session.connect("ranker") as client:
        synced = functools.partial(_sync_once, client, folder, target)
        if watch:
            _watch(synced, folder, project, layer, session.output)
        else:
            report = synced()
            if session.output.as_json:
                session.output.document(report_json(project, layer, report))
            _print(session.output, report)


def _sync_once(client: Client, folder: Path, target: Target) -> SyncReport:
    try:
        with shown_progress() as progress:
            return sync_folder(client, folder, target, progress)
    except OSError as error:
        raise CommandFailed(
            f"folder {str(folder)!r} cannot be read ({reason_of(error)}): name a folder", Exit.REFUSED
        ) from error


def _watch(synced: Callable[[], SyncReport], folder: Path, project: str, layer: str, output: Output) -> None:
    """Sync at once, then after each change, until Ctrl-C; a failure later is said and tried again."""
    from watchfiles import watch  # noqa: PLC0415 - only a watch pays for loading it

    _print_watched(output, project, layer, synced())
    output.remark(f"watching {folder}: Ctrl-C ends it")
    # What changed before the watch was in place shows on the first turn, which a timeout brings about.
    pending = True
    try:
        for changes in watch(
            folder,
            watch_filter=lambda _, path: not _is_ignored_below(folder, path),
            rust_timeout=RETRY_MILLISECONDS,
            yield_on_timeout=True,
        ):
            if changes or pending:
                pending = not _sync_again(synced, project, layer, output)
    except KeyboardInterrupt:
        return


def _sync_again(synced: Callable[[], SyncReport], project: str, layer: str, output: Output) -> bool:
    try:
        report = synced()
    except (RanktrailError, CommandFailed) as error:
        output.remark(f"not synced: {error}")
        return False
    if report.changed_anything:
        _print_watched(output, project, layer, report)
    return True


def _is_ignored_below(folder: Path, path: str) -> bool:
    try:
        parts = Path(path).relative_to(folder.absolute()).parts
    except ValueError:  # named by where a link leads
        parts = (Path(path).name,)
    return any(is_ignored(part) for part in parts)


def _print_watched(output: Output, project: str, layer: str, report: SyncReport) -> None:
    if output.as_json:
        output.json_line(report_json(project, layer, report))
    _print(output, report)


def _print(output: Output, report: SyncReport) -> None:
    vectors = f", {size_words(report.token_vector_bytes)} of token vectors" if report.token_vector_bytes else ""
    for skip in () if output.as_json else report.skips:
        output.remark(f"skipped {skip.path}: {skip.reason}")
    output.line(
        f"added {report.added_count}, changed {report.changed_count}, deleted {report.deleted_count}, "
        f"unchanged {report.unchanged_count}, skipped {len(report.skips)}; "
        f"the index is ready with {counted(report.unit_count, 'unit')}{vectors}"
    )


def report_json(project: str, layer: str, report: SyncReport) -> dict[str, Any]:
    """Return a sync as a JSON value."""
    return {
        "project_id": project,
        "layer": layer,
        "commit_id": report.commit_id,
        "added_count": report.added_count,
        "changed_count": report.changed_count,
        "deleted_count": report.deleted_count,
        "unchanged_count": report.unchanged_count,
        "skipped": [{"path": skip.path, "reason": skip.reason} for skip in report.skips],
        "effective_memory_hash": report.effective_memory_hash,
        "index_revision": report.index_revision,
        "unit_count": report.unit_count,
        "token_vector_bytes": report.token_vector_bytes,
    }

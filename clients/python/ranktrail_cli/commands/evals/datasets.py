"""`ranktrail evals datasets`: which datasets there are, and whether a file is one."""

from pathlib import Path
from typing import Any

import click

from ranktrail_cli.commands.evals.refusals import with_refusals
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import counted
from ranktrail_evals.dataset.checksum import checksum
from ranktrail_evals.dataset.discovery import Listed, list_datasets
from ranktrail_evals.dataset.model import Dataset
from ranktrail_evals.dataset.reading import read_dataset
from ranktrail_evals.errors import DatasetInvalid


@click.group(
    invoke_without_command=True,
    epilog=examples(
        "ranktrail evals datasets",
        "ranktrail evals datasets --dataset-dir evals/ --json",
        "ranktrail evals datasets validate mine.json",
    ),
)
@click.option("--dataset-dir", type=click.Path(path_type=Path), help="A folder with datasets of yours.")
@with_session
@with_refusals
def datasets(session: Session, dataset_dir: Path | None) -> None:
    """List the datasets that ship and those of a folder; exit with 5 when one of them has problems."""
    if click.get_current_context().invoked_subcommand is not None:
        return
    found = list_datasets(dataset_dir)
    if session.output.as_json:
        session.output.document({"datasets": [_listed_json(one) for one in found]})
    else:
        session.output.table(_table(found))
    broken = [one.problem for one in found if one.problem is not None]
    if broken:
        raise broken[0]


@datasets.command(
    "validate",
    epilog=examples(
        "ranktrail evals datasets validate mine.json", "ranktrail evals datasets validate mine.json --json"
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@with_session
@with_refusals
def validate(session: Session, file: Path) -> None:
    """Check a dataset FILE; name each problem with its record, and exit with 5 when there are any."""
    try:
        dataset = read_dataset(file)
    except DatasetInvalid as error:
        if session.output.as_json:
            session.output.document({"dataset": None, "problems": list(error.problems)})
        for problem in error.problems:
            session.output.line(f"{file}: {problem}")
        found = counted(len(error.problems), "problem")
        raise CommandFailed(f"dataset {str(file)!r} has {found}: mend what is named", Exit.REFUSED) from error
    if session.output.as_json:
        session.output.document({"dataset": _dataset_json(dataset), "problems": []})
    else:
        name, count = f"{dataset.dataset_id} {dataset.version}", counted(len(dataset.records), "record")
        session.output.line(f"{name} is valid: {count}, content {checksum(dataset)}")


def _listed_json(one: Listed) -> dict[str, Any]:
    described = {} if one.dataset is None else _dataset_json(one.dataset)
    problems = [] if one.problem is None else list(one.problem.problems)
    return {"path": str(one.path), **described, "problems": problems}


def _dataset_json(dataset: Dataset) -> dict[str, Any]:
    return {
        "dataset_id": dataset.dataset_id,
        "version": dataset.version,
        "title": dataset.title,
        "license": dataset.license,
        "records": len(dataset.records),
        "splits": {name: len(ids) for name, ids in dataset.splits.items()},
        "checksum": checksum(dataset),
    }


def _table(found: list[Listed]) -> Table:
    table = Table(
        (
            Column("dataset"),
            Column("version"),
            Column("records", is_number=True),
            Column("splits"),
            Column("title", yields=2),
            Column("file", yields=1),
        )
    )
    for one in found:
        dataset = one.dataset
        if dataset is None:
            table.add("(has problems)", "", "", "", "", str(one.path))
        else:
            splits = ", ".join(f"{name} {len(ids)}" for name, ids in dataset.splits.items())
            count = str(len(dataset.records))
            table.add(dataset.dataset_id, dataset.version, count, splits, dataset.title, str(one.path))
    return table

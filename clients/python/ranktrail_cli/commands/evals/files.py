"""The files of a run: `<result id>.json`, `.html` and `.xml` in one folder."""

import json
from pathlib import Path

from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import reason_of
from ranktrail_cli.whole_file import whole_file
from ranktrail_evals.results.junit import junit_xml
from ranktrail_evals.results.model import Result


def make_folder(folder: Path) -> None:
    """Make the folder where there is none; raise CommandFailed when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CommandFailed(
            f"--output {str(folder)!r} cannot be made ({reason_of(error)}): name a folder of yours", Exit.REFUSED
        ) from error


def write_json(folder: Path, result: Result) -> None:
    """Write the result alone; raise CommandFailed when that cannot be done."""
    text = json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(folder / f"{result.result_id}.json", text + "\n")


def write_files(folder: Path, result: Result) -> Path:
    """Write the result and its reports; return the JSON file. Raise CommandFailed when that cannot be done."""
    write_json(folder, result)
    write_html(folder / f"{result.result_id}.html", result)
    write_text(folder / f"{result.result_id}.xml", junit_xml(result))
    return folder / f"{result.result_id}.json"


def write_html(path: Path, result: Result) -> None:
    """Write the page of a result; raise CommandFailed when that cannot be done."""
    from ranktrail_evals.results.report import html_report  # noqa: PLC0415 - it loads matplotlib, and help needs none

    write_text(path, html_report(result))


def write_text(path: Path, text: str) -> None:
    """Write a file wholly or not at all; raise CommandFailed when that cannot be done."""
    try:
        with whole_file(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise CommandFailed(
            f"{str(path)!r} was not written ({reason_of(error)}): give it a folder of yours with space", Exit.INCOMPLETE
        ) from error

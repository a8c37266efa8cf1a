"""`ranktrail evals replay`: an exported set, ranked by today's ranker."""

import json
from pathlib import Path

import click

from ranktrail_cli.commands.evals.files import make_folder, write_text
from ranktrail_cli.commands.evals.refusals import with_refusals
from ranktrail_cli.commands.evals.replay_view import print_replay
from ranktrail_cli.examples import examples
from ranktrail_cli.progress import shown_progress
from ranktrail_cli.session import Session, with_session
from ranktrail_evals.replay.fixture import read_fixture
from ranktrail_evals.replay.gate import conditions
from ranktrail_evals.replay.model import Replay
from ranktrail_evals.replay.replaying import replay


@click.command(
    "replay",
    epilog=examples(
        "ranktrail export --project docs --out docs.json && ranktrail evals replay docs.json",
        "ranktrail evals replay docs.json --profile mine --gate 'nDCG@10>=baseline-0.01'",
        "ranktrail evals replay docs.json --gate 'b3_hybrid_rrf:R@20>=baseline' --json",
    ),
)
@click.argument("fixture", type=click.Path(path_type=Path))
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    help="Also rank with this profile; may be repeated. The default always ranks.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="[ORDER:]MEASURE>=BAR",
    help="What every profile must reach: R@20, nDCG@10 or RR of an order (of what is returned, if none is named); the "
    "bar is `baseline`, `baseline-X` or a number. Default: nothing returned is shown to be worse.",
)
@click.option("--output", "folder", type=click.Path(path_type=Path), help="Default: evals in the data directory.")
@with_session
@with_refusals
def replay_set(
    session: Session, fixture: Path, profiles: tuple[str, ...], gates: tuple[str, ...], folder: Path | None
) -> None:
    """Rank the cases of an exported FIXTURE on their frozen corpora with today's ranker, and compare.

    Nothing of it enters a project or its history. Exit with 1 when a condition of the gate fails, 6 when one cannot be
    told or a case was not ranked. The result is written as JSON, as an HTML page and as JUnit XML.
    """
    asked = conditions(gates)
    found = read_fixture(fixture)
    folder = folder or session.data_dir / "evals"
    make_folder(folder)
    with session.connect("ranker") as client, shown_progress("") as progress:
        result = replay(client.ranker, found, profiles, asked, progress.step)
    written = _write(folder, result)
    if session.output.as_json:
        session.output.document(result.model_dump(mode="json"))
    else:
        print_replay(session.output, result)
    session.output.remark(f"result: {written}")
    if result.exit_code:
        raise click.exceptions.Exit(result.exit_code)


def _write(folder: Path, result: Replay) -> Path:
    from ranktrail_evals.replay.report import replay_junit, replay_page  # noqa: PLC0415 - it loads matplotlib

    place = folder / f"{result.result_id}.json"
    text = json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    write_text(place, text + "\n")
    write_text(place.with_suffix(".html"), replay_page(result))
    write_text(place.with_suffix(".xml"), replay_junit(result))
    return place

"""`ranktrail evals compare`: what became of a baseline."""

import click

from ranktrail_cli.commands.evals.refusals import with_refusals
from ranktrail_cli.commands.evals.view import print_comparison
from ranktrail_cli.examples import examples
from ranktrail_cli.session import Session, with_session
from ranktrail_evals.comparison import compare
from ranktrail_evals.results.reading import read_result

SEED = 20_260_101


@click.command(
    "compare",
    epilog=examples(
        "ranktrail evals compare localrag-scope my-result.json",
        "ranktrail evals compare before.json after.json --tolerance 0.01 --json",
    ),
)
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "--tolerance", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="How much worse is still as good."
)
@click.option("--seed", type=click.IntRange(min=0), default=SEED, show_default=True, help="Draws the intervals.")
@with_session
@with_refusals
def compare_results(session: Session, baseline: str, candidate: str, tolerance: float, seed: int) -> None:
    """Compare two result files; BASELINE may also be the name of a baseline that ships.

    Exit with 1 when a metric got worse by more than the tolerance, 6 when the candidate lacks cases or values of the
    baseline, 7 when the two do not measure the same thing.
    """
    found = compare(read_result(baseline), read_result(candidate), tolerance=tolerance, seed=seed)
    if session.output.as_json:
        session.output.document(found.model_dump(mode="json"))
    else:
        print_comparison(session.output, found)
    if found.exit_code:
        raise click.exceptions.Exit(found.exit_code)

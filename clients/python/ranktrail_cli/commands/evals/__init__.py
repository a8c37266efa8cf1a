"""`ranktrail evals`: measures retrieval and answers on datasets, and gates on the result.

To add a command, name it here and write it in a module beside this one.
"""

import click

from ranktrail_cli.examples import examples
from ranktrail_cli.lazy_group import LazyGroup

_HERE = "ranktrail_cli.commands.evals"


@click.group(
    cls=LazyGroup,
    commands_at={
        "run": f"{_HERE}.run:run",
        "replay": f"{_HERE}.replay:replay_set",
        "compare": f"{_HERE}.compare:compare_results",
        "datasets": f"{_HERE}.datasets:datasets",
        "report": f"{_HERE}.report:report",
    },
    epilog=examples(
        "ranktrail evals run --offline --dataset localrag-scope",
        "ranktrail evals replay exported.json --gate 'nDCG@10>=baseline-0.01'",
        "ranktrail evals compare localrag-scope my-result.json",
        "ranktrail evals datasets",
    ),
)
def evals() -> None:
    """Measure retrieval and answers on datasets; end with an exit code for CI."""

"""The command `ranktrail` and what stands below it."""

import click

from ranktrail_cli.commands.activate import activate
from ranktrail_cli.commands.backup import backup
from ranktrail_cli.commands.case import case
from ranktrail_cli.commands.completion import completion
from ranktrail_cli.commands.demo import demo
from ranktrail_cli.commands.diagnostics import diagnostics
from ranktrail_cli.commands.evals import evals
from ranktrail_cli.commands.export import export
from ranktrail_cli.commands.fsck import fsck
from ranktrail_cli.commands.import_set import import_set
from ranktrail_cli.commands.judge import judge
from ranktrail_cli.commands.mcp import mcp
from ranktrail_cli.commands.memory import memory
from ranktrail_cli.commands.profiles import profiles
from ranktrail_cli.commands.report import report
from ranktrail_cli.commands.restore import restore
from ranktrail_cli.commands.runs import runs
from ranktrail_cli.commands.status import status
from ranktrail_cli.commands.sync import sync
from ranktrail_cli.commands.tls import tls
from ranktrail_cli.commands.token import token
from ranktrail_cli.commands.up import up
from ranktrail_cli.examples import examples


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "ranktrail demo                                      see it work on a memory that ships with it",
        "ranktrail up                                        start both services",
        "ranktrail sync notes --project docs                 put a folder into a project's memory",
        'ranktrail activate "how to deploy" --project docs   ask it',
        "ranktrail runs list                                 see what was asked",
    )
    + "\n\nExit codes: 0 done, 1 a negative result, 2 usage, 3 a service cannot be reached, 4 conflict, "
    "5 refused input or not found, 6 something required is unavailable or incomplete, 7 not comparable; "
    "130 after Ctrl-C, 141 when the reader of the output has gone.",
)
@click.version_option(package_name="ranktrail", prog_name="ranktrail")
def cli() -> None:
    """Ask a project's memory, and see how it came to its answer."""


for command in (
    up,
    sync,
    activate,
    runs,
    case,
    judge,
    report,
    export,
    import_set,
    evals,
    memory,
    profiles,
    status,
    diagnostics,
    mcp,
    fsck,
    backup,
    restore,
    tls,
    token,
    completion,
    demo,
):
    cli.add_command(command)

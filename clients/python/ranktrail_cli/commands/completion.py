"""`ranktrail completion`: lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from ranktrail_cli.examples import examples
from ranktrail_cli.session import Session, with_session

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog=examples(
        'eval "$(ranktrail completion bash)"                            in ~/.bashrc',
        'eval "$(ranktrail completion zsh)"                             in ~/.zshrc',
        "ranktrail completion fish > ~/.config/fish/completions/ranktrail.fish",
    )
)
@click.argument("shell", type=click.Choice(SHELLS))
@with_session
@click.pass_context
def completion(context: click.Context, session: Session, shell: str) -> None:
    """Print the script that completes `ranktrail` in a shell."""
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"no completion for {shell}")
    script = completer(context.find_root().command, {}, "ranktrail", "_RANKTRAIL_COMPLETE").source()
    if session.output.as_json:
        session.output.document({"shell": shell, "script": script})
    else:
        session.output.block(script)

"""`ranktrail activate`: a query gets its fragments."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ranktrail.history.v1 import history_service_pb2 as history_pb2
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.exits import CommandFailed, Exit
from ranktrail_cli.fields import LAYERS, TextField, layer_number
from ranktrail_cli.output import Output
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.state_file import read_state, write_state
from ranktrail_cli.trace_view import counted, print_candidates, print_fragments
from ranktrail_client.client import Client
from ranktrail_client.errors import InvalidActivationState, RanktrailError, RunNotFound
from ranktrail_client.message_json import message_json
from ranktrail_client.run_delivery import delivered_run

INT32_MAX = 2**31 - 1
Function = TypeVar("Function", bound=Callable[..., Any])
_LIMIT = click.IntRange(1, INT32_MAX)

_FILTERS = (
    click.option("--max-fragments", type=_LIMIT, help="At most so many fragments. Default: the profile's."),
    click.option("--token-budget", type=_LIMIT, help="At most so many tokens. Default: the profile's."),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        type=TextField("--kind", may_be_blank=False),
        help="Only this kind; may be repeated.",
    ),
    click.option(
        "--layer", "layers", multiple=True, type=click.Choice(LAYERS), help="Only this layer; may be repeated."
    ),
    click.option(
        "--path", "path_prefix", type=TextField("--path"), default="", help="Only paths that start with this."
    ),
    click.option("--profile", type=TextField("--profile"), default="", help="Ranking profile. Default: the ranker's."),
)


def _filtered(command: Function) -> Function:
    for option in reversed(_FILTERS):
        command = option(command)
    return command


@click.command(
    epilog=examples(
        'ranktrail activate "how do I roll back?" --project docs',
        'ranktrail activate "error TW-4291" --project docs --state session.state --max-fragments 4',
        'ranktrail activate "retention" --project docs --path policies/ --layer organization --trace',
    )
)
@click.argument("query", type=TextField("query"))
@click.option("--project", required=True, type=ProjectField("project"), help="The project to ask.")
@click.option("--state", type=click.Path(path_type=Path), help="File of what the caller knows; read, then written.")
@_filtered
@click.option("--trace", is_flag=True, help="Also print every candidate, as history recorded it.")
@with_session
def activate(session: Session, query: str, project: str, state: Path | None, trace: bool, **filters: Any) -> None:
    """Ask a project's memory for the few fragments that answer QUERY.

    With --state, fragments that the caller knows are not sent again. The file need not exist, and an empty one counts
    as none. It is written only after the whole reply was printed, so that text which nobody received never counts as
    known; when it cannot be written, the reply stands and the next activation starts from the old one.

    With --trace and --json, "trace" is null when history does not have the Run yet, which the exit code tells too.
    """
    known = None if state is None else read_state(state)
    request = _request(query, project, known, **filters)
    with session.connect("ranker", *(("history",) if trace else ())) as client:
        response = _activated(client, request, state)
        if session.output.as_json:
            problem = _print_document(client, session.output, response, trace)
            _keep(state, response)
            if problem is not None:
                raise problem
        else:
            _print(session.output, request, response, trace)
            _keep(state, response)
            if trace:
                print_candidates(session.output, _recorded(client, response.run_id).candidates)


def _activated(client: Client, request: pb.ActivateMemoryRequest, state: Path | None) -> pb.ActivateMemoryResponse:
    try:
        return client.ranker.activate_memory(request)
    except InvalidActivationState as error:
        raise InvalidActivationState(
            f"--state {str(state)!r} holds no activation state that this ranker takes: delete the file to start over",
            code=error.code,
            reason=error.reason,
            metadata=error.metadata,
        ) from error


def _keep(state: Path | None, response: pb.ActivateMemoryResponse) -> None:
    if state is not None:
        write_state(state, response.next_activation_state)


def _request(
    query: str,
    project: str,
    known: bytes | None,
    *,
    max_fragments: int | None,
    token_budget: int | None,
    kinds: tuple[str, ...],
    layers: tuple[str, ...],
    path_prefix: str,
    profile: str,
) -> pb.ActivateMemoryRequest:
    return pb.ActivateMemoryRequest(
        project_id=project,
        query=query,
        activation_state=known,
        max_fragments=max_fragments,
        token_budget=token_budget,
        kinds=kinds,
        layers=[layer_number(word) for word in layers],
        path_prefix=path_prefix,
        profile=profile,
    )


def _recorded(client: Client, run_id: str) -> history_pb2.GetRetrievalRunResponse:
    """Return the Run as history has it; raise CommandFailed when it has not come there in time."""
    late = CommandFailed(
        f"--trace: Run {run_id} is not in history yet: see `ranktrail status`, later `ranktrail runs show {run_id}`",
        Exit.INCOMPLETE,
    )
    try:
        recorded = delivered_run(client, run_id)
    except RunNotFound as error:
        raise late from error
    if recorded.run.state == history_pb2.RetrievalRun.STATE_RUNNING:
        raise late
    return recorded


def _print_document(
    client: Client, output: Output, response: pb.ActivateMemoryResponse, traced: bool
) -> CommandFailed | RanktrailError | None:
    """Print the one document; return why it has no trace, where one was asked for."""
    document, problem = message_json(response), None
    if traced:
        try:
            document["trace"] = message_json(_recorded(client, response.run_id))
        except (CommandFailed, RanktrailError) as error:
            document["trace"], problem = None, error
    output.document(document)
    return problem


def _print(
    output: Output, request: pb.ActivateMemoryRequest, response: pb.ActivateMemoryResponse, traced: bool
) -> None:
    tokens = counted(sum(fragment.token_count for fragment in response.fragments), "token")
    output.line(f"Run {response.run_id}: {counted(len(response.fragments), 'fragment')}, {tokens}")
    if not response.fragments:
        output.note(_why_nothing(request, traced))
    output.line()
    print_fragments(output, response.fragments)
    for unit_key in response.removed:
        output.line(f"removed  {unit_key}")
    if response.query_tokens_encoded < response.query_token_count:
        output.remark(
            f"the encoder saw the first {response.query_tokens_encoded} of the query's "
            f"{response.query_token_count} tokens; the lexical stages saw all of it"
        )


def _why_nothing(request: pb.ActivateMemoryRequest, traced: bool) -> str:
    """Say what can leave nothing to return; the reply does not tell which of it did."""
    filters = (("--kind", request.kinds), ("--layer", request.layers), ("--path", request.path_prefix))
    given = "/".join(option for option, value in filters if value)
    nobody = f"no unit matches {given} or" if given else "no unit"
    where = "below is" if traced else "--trace shows"
    return f"{nobody} passed the profile's relevance floor or the limits given: {where} every candidate and its reason"

"""`ranktrail memory`: what a project knows."""

import click

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.examples import examples
from ranktrail_cli.fields import LAYERS, TextField, layer_number
from ranktrail_cli.output import Output, add_row, new_table
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.trace_view import DASH
from ranktrail_client.client import Client
from ranktrail_client.message_json import enum_word, message_json
from ranktrail_client.paging import pages


@click.group(
    epilog=examples(
        "ranktrail memory show --project docs",
    )
)
def memory() -> None:
    """Show what a project knows."""


@memory.command(
    "show",
    epilog=examples(
        "ranktrail memory show --project docs",
        "ranktrail memory show --project docs --layer organization --json",
    ),
)
@click.option("--project", required=True, type=TextField("project"), help="The project.")
@click.option(
    "--layer", type=click.Choice(LAYERS), help="One layer as committed. Default: what the layers make together."
)
@with_session
def show_memory(session: Session, project: str, layer: str | None) -> None:
    """List the resources of a project's Effective Memory, or of one of its layers."""
    with session.connect() as client:
        found = _read(client, project, layer)
    if session.output.as_json:
        session.output.document(message_json(found))
    else:
        _print(session.output, found)


def _read(client: Client, project: str, layer: str | None) -> pb.GetEffectiveMemoryResponse:
    """Return every page as one answer."""
    request = pb.GetEffectiveMemoryRequest(
        # The organization's layer belongs to no project.
        project_id="" if layer == "organization" else project,
        layer=trace_pb2.LAYER_UNSPECIFIED if layer is None else layer_number(layer),
    )
    whole = pb.GetEffectiveMemoryResponse()
    for page in pages(client.ranker.get_effective_memory, request):
        whole.MergeFrom(page)
    whole.next_page_token = ""
    return whole


def _print(output: Output, found: pb.GetEffectiveMemoryResponse) -> None:
    table = new_table("resource", "layer", "kind", "bytes", "media type", "state", "title", numbers=("bytes",))
    for resource in found.resources:
        add_row(
            table,
            resource.resource_id,
            str(enum_word(trace_pb2.Layer.DESCRIPTOR, resource.layer) or DASH),
            resource.kind,
            str(resource.size_bytes),
            resource.media_type,
            str(enum_word(trace_pb2.ParseState.DESCRIPTOR, resource.parse_state) or DASH),
            resource.title or DASH,
        )
    output.table(table)
    output.line()
    output.line(f"{found.resource_count} resources, memory {found.effective_memory_hash or DASH}")
    output.line(f"commit {found.commit_id or DASH}; index {found.index_revision or DASH}, {found.unit_count} units")

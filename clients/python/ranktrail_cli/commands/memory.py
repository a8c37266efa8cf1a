"""`ranktrail memory`: what a project knows."""

import click

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2
from ranktrail_cli.completing import ProjectField
from ranktrail_cli.examples import examples
from ranktrail_cli.fields import LAYERS, layer_number
from ranktrail_cli.output import Output
from ranktrail_cli.session import Session, with_session
from ranktrail_cli.tables import Column, Table
from ranktrail_cli.trace_view import DASH, counted
from ranktrail_client.client import Client
from ranktrail_client.message_json import enum_word, message_json
from ranktrail_client.paging import pages

COLUMNS = (
    Column("resource", yields=1),
    Column("layer"),
    Column("kind"),
    Column("bytes", is_number=True),
    Column("media type"),
    Column("state"),
    Column("title", yields=1),
)


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
@click.option("--project", required=True, type=ProjectField("project"), help="The project.")
@click.option(
    "--layer", type=click.Choice(LAYERS), help="One layer as committed. Default: what the layers make together."
)
@with_session
def show_memory(session: Session, project: str, layer: str | None) -> None:
    """List the resources of a project's Effective Memory, or of one of its layers."""
    with session.connect("ranker") as client:
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
    table = Table(COLUMNS)
    for resource in found.resources:
        table.add(
            resource.resource_id,
            str(enum_word(trace_pb2.Layer.DESCRIPTOR, resource.layer) or DASH),
            resource.kind,
            str(resource.size_bytes),
            resource.media_type,
            str(enum_word(trace_pb2.ParseState.DESCRIPTOR, resource.parse_state) or DASH),
            resource.title or DASH,
        )
    if found.resources:
        output.table(table)
        output.line()
    resources = counted(found.resource_count, "resource") if found.resource_count else "no resources"
    output.line(f"{resources}, memory {found.effective_memory_hash or DASH}")
    output.line(
        f"commit {found.commit_id or DASH}; index {found.index_revision or DASH}, {counted(found.unit_count, 'unit')}"
    )

"""The beginning of a resource, as a Run's memory had it."""

from dataclasses import dataclass

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1.trace_pb2 import Resource
from ranktrail_client import Client

SHOWN_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ResourceText:
    """A resource, its first bytes as text, and how many bytes are not shown."""

    resource: Resource
    text: str
    hidden: int


def beginning_of(client: Client, run_id: str, resource_id: str) -> ResourceText:
    """Read the beginning of a resource and not the rest; raise RanktrailError."""
    frames = client.history.read_run_resource(pb.ReadRunResourceRequest(run_id=run_id, resource_id=resource_id))
    first = next(frames)
    body = first.content
    for frame in frames:
        if len(body) >= SHOWN_BYTES:
            break
        body += frame.content
    shown = body[:SHOWN_BYTES]
    # What is cut within a character ends before it.
    text = shown.decode("utf-8", "ignore" if len(body) > SHOWN_BYTES else "replace")
    return ResourceText(first.resource, text, max(0, first.resource.size_bytes - len(shown)))

"""Where a unit stands in its resource: its text, and what stands before and after it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1.trace_pb2 import Candidate, Resource
from ranktrail_client import Client, RanktrailError

CONTEXT_BYTES = 16_384
MAX_UNIT_BYTES = 65_536
STRIP_WIDTH = 1_000


@dataclass(frozen=True, slots=True)
class Span:
    """A unit on the strip that stands for its resource, in thousandths of its length."""

    start: int
    width: int
    is_this: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A unit within the bytes of its resource; the counts are bytes that are not shown."""

    resource: Resource
    before: str
    unit: str
    after: str
    hidden_before: int
    hidden_unit: int
    hidden_after: int
    first_line: int
    last_line: int
    line_count: int
    strip: list[Span]


@dataclass(frozen=True, slots=True)
class NoPlace:
    """Why a unit's resource cannot be shown."""

    reason: str


def place_of(client: Client, run_id: str, candidate: Candidate, siblings: Sequence[Candidate]) -> Place | NoPlace:
    """Read the resource of a candidate as the Run's memory had it, and find the unit in it.

    `siblings` are the Run's candidates of the same resource, the candidate itself among them.
    """
    request = pb.ReadRunResourceRequest(run_id=run_id, resource_id=candidate.resource_id)
    try:
        frames = list(client.history.read_run_resource(request, timeout=30.0))
    except RanktrailError as error:
        return NoPlace(f"The resource's text is not to be had: {error}")
    resource, body = frames[0].resource, b"".join(frame.content for frame in frames)
    if resource.digest != candidate.resource_digest:
        return NoPlace(
            "The memory at the time of the request had another version of this resource than the index that ranked it, "
            "so the unit has no place in it."
        )
    return _placed(resource, body, candidate, siblings)


def _placed(resource: Resource, body: bytes, candidate: Candidate, siblings: Sequence[Candidate]) -> Place:
    start, end = candidate.start_byte, candidate.end_byte
    first = _boundary(body, start - CONTEXT_BYTES)
    last = _boundary(body, end + CONTEXT_BYTES)
    shown_end = min(end, _boundary(body, start + MAX_UNIT_BYTES))
    return Place(
        resource=resource,
        before=_text(body[first:start]),
        unit=_text(body[start:shown_end]),
        after=_text(body[end:last]),
        hidden_before=first,
        hidden_unit=end - shown_end,
        hidden_after=len(body) - last,
        first_line=body.count(b"\n", 0, start) + 1,
        last_line=body.count(b"\n", 0, max(start, end - 1)) + 1,
        line_count=body.count(b"\n") + (not body.endswith(b"\n")),
        strip=[_span(one, len(body), one.unit_key == candidate.unit_key) for one in siblings],
    )


def _span(candidate: Candidate, size: int, is_this: bool) -> Span:
    start = candidate.start_byte * STRIP_WIDTH // max(size, 1)
    end = -(-candidate.end_byte * STRIP_WIDTH // max(size, 1))
    return Span(start, max(end - start, 4), is_this)


def _boundary(body: bytes, offset: int) -> int:
    """Return the next offset at which a character begins."""
    at = min(max(offset, 0), len(body))
    while at < len(body) and body[at] & 0xC0 == 0x80:  # noqa: PLR2004 - a byte within a character
        at += 1
    return at


def _text(part: bytes) -> str:
    return part.decode("utf-8", "replace")

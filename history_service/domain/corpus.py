"""Corpora: the Effective Memory of Runs, as their rankers saw it."""

from collections.abc import Iterable
from dataclasses import dataclass

from history_service.domain.digest import canonical_json, digest_of

LAYERS = ("organization", "project", "draft")
PARSE_STATES = ("parsed", "not_utf8", "no_parser", "blank")


@dataclass(frozen=True, slots=True)
class Resource:
    """A whole document of a memory, without its body.

    `layer` and `parse_state` are JSON words; `parse_state` is None where nobody has tried to parse it.
    """

    resource_id: str
    layer: str
    kind: str
    path: str
    title: str
    media_type: str
    digest: str
    size_bytes: int
    parse_state: str | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The resources of one Effective Memory, in resource_id order."""

    effective_memory_hash: str
    project_id: str
    resources: tuple[Resource, ...]


def manifest_hash(project_id: str, resources: Iterable[Resource]) -> str:
    """Return the Effective Memory hash of resources that are in resource_id order.

    It is the digest of the canonical JSON of
    `[project_id, [[resource_id, layer, kind, path, title, media_type, digest], …]]`.
    """
    rows = [[r.resource_id, r.layer, r.kind, r.path, r.title, r.media_type, r.digest] for r in resources]
    return digest_of(canonical_json([project_id, rows]))

"""Resources, and the Effective Memory that a project's layers make."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Self

from ranker_service.domain.digest import canonical_json, digest_of


class Layer(Enum):
    """Where a resource was committed; the value is its JSON word."""

    __hash__ = object.__hash__  # Enum hashes a member's name anew at each look-up, and these are in every candidate

    ORGANIZATION = "organization"
    PROJECT = "project"
    DRAFT = "draft"


class ParseState(Enum):
    """Whether a resource could be turned into units; the value is its JSON word."""

    PARSED = "parsed"
    NOT_UTF8 = "not_utf8"
    NO_PARSER = "no_parser"
    BLANK = "blank"


class Resource(NamedTuple):
    """A whole document of a memory, without its body."""

    resource_id: str
    layer: Layer
    kind: str
    path: str
    title: str
    media_type: str
    digest: str
    size_bytes: int
    parse_state: ParseState


@dataclass(frozen=True, slots=True)
class EffectiveMemory:
    """The overlay of a project's layers: its resources in resource_id order, and the digest of their manifest."""

    project_id: str
    resources: tuple[Resource, ...]
    hash: str

    @classmethod
    def of(cls, project_id: str, resources: Iterable[Resource]) -> Self:
        """Order `resources` by id and hash their manifest; ids must be unique."""
        ordered = tuple(sorted(resources, key=lambda resource: resource.resource_id))
        rows = [[r.resource_id, r.layer.value, r.kind, r.path, r.title, r.media_type, r.digest] for r in ordered]
        return cls(project_id, ordered, digest_of(canonical_json([project_id, rows])))

"""Values of the ranker's domain: a test spells out only what it is about. Messages: tests/history_builders.py."""

from dataclasses import replace
from typing import Any

from ranker_service.domain.candidate import Candidate
from ranker_service.domain.digest import digest_of
from ranker_service.domain.profile import Profile
from ranker_service.domain.resource import Layer, ParseState, Resource
from ranker_service.domain.unit import Unit
from ranker_service.profiles.catalog import ProfileCatalog


def a_resource(resource_id: str = "guide.md", body: str = "Guide", **fields: Any) -> Resource:
    """Return a parsed project document whose path is its id."""
    encoded = body.encode()
    values: dict[str, Any] = {
        "layer": Layer.PROJECT,
        "kind": "document",
        "path": resource_id,
        "title": "",
        "media_type": "text/markdown",
        "digest": digest_of(encoded),
        "size_bytes": len(encoded),
        "parse_state": ParseState.PARSED,
    }
    return Resource(resource_id=resource_id, **(values | fields))


def a_unit(resource_id: str = "guide.md", span: tuple[int, int] = (0, 5), tokens: int = 3, **fields: Any) -> Unit:
    """Return the unit of a span of a resource; its key and text follow from the span."""
    text = "x" * (span[1] - span[0])
    values: dict[str, Any] = {
        "unit_key": f"{resource_id}#/{span[0]}/0",
        "resource": a_resource(resource_id),
        "heading_path": (),
        "digest": digest_of(text.encode()),
        "prefix": "",
        "text": text,
    }
    return Unit(start_byte=span[0], end_byte=span[1], token_count=tokens, **(values | fields))


def a_candidate(unit: Unit | None = None, **fields: Any) -> Candidate:
    """Return a candidate that no stage has seen yet."""
    return Candidate(unit=unit or a_unit(), **fields)


def a_profile(**sections: dict[str, Any]) -> Profile:
    """Return the default profile with some values of some sections replaced, given as one mapping a section."""
    profile = ProfileCatalog.load().default()
    changed = {name: replace(getattr(profile, name), **values) for name, values in sections.items()}
    return replace(profile, **changed)

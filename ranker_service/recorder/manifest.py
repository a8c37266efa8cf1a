"""An Effective Memory as a file, so that a restart can still deliver it."""

from pathlib import Path
from typing import Any

import orjson

from ranker_service.domain.resource import EffectiveMemory, Layer, ParseState, Resource


class ManifestDamaged(Exception):
    """A manifest file that does not hold what its name says."""


def manifest_bytes(memory: EffectiveMemory) -> bytes:
    """Return the file's bytes."""
    rows = [
        [
            r.resource_id,
            r.layer.value,
            r.kind,
            r.path,
            r.title,
            r.media_type,
            r.digest,
            r.size_bytes,
            r.parse_state.value,
        ]
        for r in memory.resources
    ]
    return orjson.dumps({"project_id": memory.project_id, "resources": rows})


def read_manifest(path: Path, memory_hash: str) -> EffectiveMemory:
    """Read the manifest of an Effective Memory; raise ManifestDamaged, FileNotFoundError or another OSError."""
    try:
        document = orjson.loads(path.read_bytes())
        memory = EffectiveMemory.of(document["project_id"], map(_resource, document["resources"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ManifestDamaged(f"{path.name} cannot be read: {error}") from error
    if memory.hash != memory_hash:
        raise ManifestDamaged(f"{path.name} holds another memory than its name says")
    return memory


def _resource(row: list[Any]) -> Resource:
    resource_id, layer, kind, path, title, media_type, digest, size_bytes, parse_state = row
    return Resource(
        resource_id, Layer(layer), kind, path, title, media_type, digest, size_bytes, ParseState(parse_state)
    )

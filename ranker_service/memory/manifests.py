"""Manifests: what a layer holds, as canonical JSON whose digest is the commit's id.

How the bodies parse is not part of it, since that depends on the parsers' revision: it stands in a file beside it,
which is made anew whenever it does not fit.
"""

import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from ranker_service.domain.digest import canonical_json, digest_of, is_digest
from ranker_service.domain.resource import Layer, ParseState, Resource
from ranker_service.memory.damage import MemoryDamaged
from ranker_service.memory.durable import make_directory, read_file, replace_file
from ranker_service.memory.parsers import PARSER_REVISION, inspect


def manifest_of(layer: Layer, resources: Sequence[Resource]) -> tuple[str, bytes]:
    """Return the commit id and the manifest of `resources`, which are in resource_id order."""
    rows = [[r.resource_id, r.kind, r.path, r.title, r.media_type, r.digest, r.size_bytes] for r in resources]
    content = canonical_json({"layer": layer.value, "resources": rows})
    return digest_of(content), content


def _resource(layer: Layer, row: list[Any], parse_state: ParseState) -> Resource:
    resource_id, kind, path, title, media_type, digest, size_bytes = row
    return Resource(resource_id, layer, kind, path, title, media_type, digest, size_bytes, parse_state)


class Manifests:
    """The manifests below a directory, `<commit id>.json`. The one used last is kept in memory.

    Only `known` may be called by several threads at once.
    """

    def __init__(self, directory: Path, read_body: Callable[[str], bytes]) -> None:
        self._directory = directory
        self._read_body = read_body
        self._latest: tuple[str, tuple[Resource, ...]] = ("", ())
        make_directory(directory)

    def known(self, commit_id: str) -> tuple[Resource, ...] | None:
        """Return the resources of a commit where it is the one used last; the empty id is a commit of none."""
        latest_id, latest = self._latest
        return latest if commit_id == latest_id else None if commit_id else ()

    def read(self, commit_id: str) -> tuple[Resource, ...]:
        """Return the resources of a commit in resource_id order; raise MemoryDamaged where that cannot be done."""
        known = self.known(commit_id)
        if known is not None:
            return known
        content = self._content(commit_id)
        if content is None:
            raise MemoryDamaged(f"manifest {commit_id}", "is missing or has other bytes")
        manifest = json.loads(content)
        resources = self._with_parse_states(commit_id, Layer(manifest["layer"]), manifest["resources"])
        self._latest = (commit_id, resources)
        return resources

    def write(self, layer: Layer, resources: tuple[Resource, ...]) -> str:
        """Store the manifest of `resources` durably, unless it is there, and return the commit id."""
        commit_id, content = manifest_of(layer, resources)
        if self._content(commit_id) != content:
            self._write_parse_states(commit_id, [resource.parse_state for resource in resources])
            replace_file(self._path(commit_id), content)
        self._latest = (commit_id, resources)
        return commit_id

    def delete_except(self, commit_ids: Collection[str]) -> int:
        """Delete every manifest that is not among `commit_ids`, and return how many bytes they had."""
        freed = 0
        for path in sorted(self._directory.iterdir()):
            if path.name.split(".", 1)[0] not in commit_ids:
                freed += path.lstat().st_size
                path.unlink()
        return freed

    def _path(self, commit_id: str) -> Path:
        return self._directory / f"{commit_id}.json"

    def _content(self, commit_id: str) -> bytes | None:
        """Return the bytes of a sound manifest, else None."""
        if not is_digest(commit_id):
            return None
        try:
            content = read_file(self._path(commit_id))
        except OSError:
            return None
        return content if digest_of(content) == commit_id else None

    def _with_parse_states(self, commit_id: str, layer: Layer, rows: list[list[Any]]) -> tuple[Resource, ...]:
        states = self._read_parse_states(commit_id, len(rows))
        if states is None:
            states = [inspect(row[4], self._read_body(row[5])) for row in rows]
            self._write_parse_states(commit_id, states)
        return tuple(_resource(layer, row, state) for row, state in zip(rows, states, strict=True))

    def _states_path(self, commit_id: str) -> Path:
        return self._directory / f"{commit_id}.parse_states.json"

    def _read_parse_states(self, commit_id: str, count: int) -> list[ParseState] | None:
        """Return the states of a commit's resources in order; None where they are missing or of other parsers."""
        try:
            document = json.loads(read_file(self._states_path(commit_id)))
            states = [ParseState(word) for word in document["parse_states"]]
            return states if document["parser_revision"] == PARSER_REVISION and len(states) == count else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write_parse_states(self, commit_id: str, states: list[ParseState]) -> None:
        words = [state.value for state in states]
        document = {"parser_revision": PARSER_REVISION, "parse_states": words}
        replace_file(self._states_path(commit_id), canonical_json(document))

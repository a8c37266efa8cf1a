"""Drafts: what a commit will do, as far as it has been sent."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ranker_service.domain.errors import BlobDigestMismatch, FieldInvalid, ResourceIdConflict
from ranker_service.domain.limits import (
    RESOURCES_PER_LAYER,
    check_digest,
    check_frame,
    check_kind,
    check_media_type,
    check_path,
    check_resource_id,
    check_resource_size,
    check_title,
)
from ranker_service.domain.resource import Layer, ParseState, Resource
from ranker_service.memory.media_types import guess_media_type

DEFAULT_KIND = "document"


class CommitMode(Enum):
    """How the sent resources relate to those of the layer."""

    REPLACE_ALL = "replace_all"
    PATCH = "patch"


@dataclass(frozen=True, slots=True)
class DraftResource:
    """A resource as it is sent, before its body. An empty kind is "document", an empty media type is guessed."""

    resource_id: str
    path: str
    size_bytes: int
    digest: str
    kind: str = ""
    title: str = ""
    media_type: str = ""

    def checked(self, layer: Layer) -> Resource:
        """Return it as a resource of `layer`, not inspected yet; raise FieldInvalid for the first wrong field."""
        return Resource(
            resource_id=check_resource_id(self.resource_id),
            layer=layer,
            kind=check_kind(self.kind or DEFAULT_KIND),
            path=check_path(self.path),
            title=check_title(self.title),
            media_type=check_media_type(self.media_type or guess_media_type(self.path)),
            digest=check_digest(self.digest),
            size_bytes=check_resource_size(self.size_bytes),
            parse_state=ParseState.BLANK,
        )


def receive(resource: Resource, chunks: Iterable[bytes]) -> bytes:
    """Join `chunks`; raise BlobDigestMismatch as soon as they cannot be the body that was announced."""
    body = bytearray()
    for chunk in chunks:
        body += check_frame(chunk)
        if len(body) > resource.size_bytes:
            raise BlobDigestMismatch(resource.digest, f"more than the announced {resource.size_bytes} bytes were sent")
    if len(body) < resource.size_bytes:
        raise BlobDigestMismatch(resource.digest, f"{len(body)} of the announced {resource.size_bytes} bytes were sent")
    found = hashlib.sha256(body).hexdigest()
    if found != resource.digest:
        raise BlobDigestMismatch(resource.digest, f"the sent bytes have the digest {found}")
    return bytes(body)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A layer after a change: its resources in resource_id order, and how many were new, other than before, or gone."""

    resources: tuple[Resource, ...]
    added_count: int
    changed_count: int
    deleted_count: int


class Changes:
    """The resources and deletions of one commit, free of contradictions among themselves."""

    def __init__(self, mode: CommitMode) -> None:
        self._mode = mode
        self._sent: dict[str, Resource] = {}
        self._ids: dict[str, str] = {}
        self._deleted: set[str] = set()

    def check_new(self, resource: Resource) -> None:
        """Refuse an id or a path that was sent already."""
        sent = self._sent.get(resource.resource_id)
        if sent is not None and sent.path != resource.path:
            raise ResourceIdConflict(resource.resource_id, resource.path, sent.path)
        if sent is not None:
            raise FieldInvalid("resource_id", f"{resource.resource_id!r} is sent twice: send each resource once")
        if resource.resource_id in self._deleted:
            raise _sent_and_deleted(resource.resource_id)
        _check_path_free(self._ids, resource)
        if len(self._sent) == RESOURCES_PER_LAYER:
            raise _too_many()

    def add(self, resource: Resource) -> None:
        """Take a resource that `check_new` let pass."""
        self._sent[resource.resource_id] = resource
        self._ids[resource.path] = resource.resource_id

    def delete(self, resource_id: str) -> None:
        """Take a deletion; an id that the layer does not hold is nothing to delete."""
        if self._mode is not CommitMode.PATCH:
            raise FieldInvalid("delete_resource_id", "is only for a patch: what replace_all does not send is removed")
        check_resource_id(resource_id, "delete_resource_id")
        if resource_id in self._sent:
            raise _sent_and_deleted(resource_id)
        self._deleted.add(resource_id)

    def applied_to(self, previous: tuple[Resource, ...]) -> Outcome:
        """Return the layer that held `previous` after these changes; raise FieldInvalid where a path would be taken."""
        before = {resource.resource_id: resource for resource in previous}
        kept = before if self._mode is CommitMode.PATCH else {}
        after = {resource_id: resource for resource_id, resource in kept.items() if resource_id not in self._deleted}
        after.update(self._sent)
        if len(after) > RESOURCES_PER_LAYER:
            raise _too_many()
        ids: dict[str, str] = {}
        for resource in after.values():
            _check_path_free(ids, resource)
            ids[resource.path] = resource.resource_id
        known = [resource for resource_id, resource in self._sent.items() if resource_id in before]
        return Outcome(
            tuple(after[resource_id] for resource_id in sorted(after)),
            added_count=len(self._sent) - len(known),
            changed_count=sum(_differ(resource, before[resource.resource_id]) for resource in known),
            deleted_count=sum(resource_id not in after for resource_id in before),
        )


def _differ(resource: Resource, before: Resource) -> bool:
    return resource._replace(parse_state=before.parse_state) != before


def _check_path_free(ids: Mapping[str, str], resource: Resource) -> None:
    other = ids.get(resource.path)
    if other is not None:
        problem = (
            f"{resource.path!r} is used by the resources {other!r} and {resource.resource_id!r}: delete or move one"
        )
        raise FieldInvalid("path", problem)


def _sent_and_deleted(resource_id: str) -> FieldInvalid:
    return FieldInvalid("delete_resource_id", f"{resource_id!r} is also sent in this commit: do one or the other")


def _too_many() -> FieldInvalid:
    problem = f"would be one of more than {RESOURCES_PER_LAYER} in its layer: commit fewer"
    return FieldInvalid("resource", problem, RESOURCES_PER_LAYER)

"""Small commits for tests."""

from hashlib import sha256

from ranker_service.domain.resource import Layer
from ranker_service.memory.commits import Commit, CommitDraft, CommitMode, CommitStore, DraftResource


def announced(resource_id: str, body: bytes, path: str = "", **fields: str) -> DraftResource:
    """Return the header of a resource whose path is `<id>.md` unless it is given."""
    return DraftResource(resource_id, path or f"{resource_id}.md", len(body), sha256(body).hexdigest(), **fields)


def add(draft: CommitDraft, resource_id: str, body: bytes, path: str = "", **fields: str) -> None:
    """Send a resource in two frames."""
    draft.add(announced(resource_id, body, path, **fields), [body[:3], body[3:]])


def patch(store: CommitStore, bodies: dict[str, bytes], *deletions: str, parent: str | None = None) -> Commit:
    """Publish a patch to the project layer."""
    with store.begin(Layer.PROJECT, CommitMode.PATCH, parent) as draft:
        for resource_id, body in bodies.items():
            add(draft, resource_id, body)
        for resource_id in deletions:
            draft.delete(resource_id)
        return draft.publish()


def replace_all(store: CommitStore, bodies: dict[str, bytes], parent: str | None = None) -> Commit:
    """Publish a commit that makes the layer exactly `bodies`."""
    with store.begin(Layer.PROJECT, CommitMode.REPLACE_ALL, parent) as draft:
        for resource_id, body in bodies.items():
            add(draft, resource_id, body)
        return draft.publish()


def contents(store: CommitStore) -> dict[str, bytes]:
    """Every resource of the head with its body, each checked against its digest."""
    return {resource.resource_id: store.read_body(resource.digest) for resource in store.manifest()}

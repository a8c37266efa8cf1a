"""Resources: from the messages of a manifest to domain values, checked, and back."""

from collections.abc import Sequence

from history_service.domain import limits
from history_service.domain.corpus import Resource
from history_service.domain.errors import FieldInvalid
from history_service.rpc import column_rules as rules
from history_service.rpc.fields import checked_count, checked_digest, checked_text
from history_service.rpc.words import LAYER_NUMBERS, LAYERS, PARSE_STATE_NUMBERS, PARSE_STATES
from history_service.use_cases.put_corpus import CorpusStart
from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2

_SIZE_RULE = rules.ColumnRule(
    lambda column: min(column) >= 0 and max(column) <= limits.MAX_RESOURCE_BYTES,
    f"must be 0 to {limits.MAX_RESOURCE_BYTES}",
    limits.MAX_RESOURCE_BYTES,
)
_RULES: dict[str, rules.ColumnRule] = {
    "resource_id": rules.text_rule(limits.MAX_RESOURCE_ID_BYTES),
    "layer": rules.WORD_RULE,
    "kind": rules.text_rule(limits.MAX_KIND_BYTES),
    "path": rules.text_rule(limits.MAX_PATH_BYTES),
    "title": rules.text_rule(limits.MAX_TITLE_BYTES, required=False),
    "media_type": rules.text_rule(limits.MAX_MEDIA_TYPE_BYTES),
    "digest": rules.DIGEST_RULE,
    "size_bytes": _SIZE_RULE,
    "parse_state": rules.WORD_RULE,
}


def corpus_start(message: pb.CorpusStart) -> CorpusStart:
    """Read what an upload announces; raise FieldInvalid."""
    count = checked_count("start.resource_count", message.resource_count)
    if count > limits.MAX_MANIFEST_RESOURCES:
        limit = limits.MAX_MANIFEST_RESOURCES
        raise FieldInvalid("start.resource_count", f"is more than {limit}", limit)
    return CorpusStart(
        effective_memory_hash=checked_digest("start.effective_memory_hash", message.effective_memory_hash),
        project_id=checked_text("start.project_id", message.project_id, limits.MAX_PROJECT_ID_BYTES),
        resource_count=count,
    )


def resources(frame: pb.ManifestFrame) -> list[Resource]:
    """Read a frame of a manifest; raise FieldInvalid, which names the resource and the field."""
    if len(frame.resources) > limits.MAX_FRAME_RESOURCES:
        limit = limits.MAX_FRAME_RESOURCES
        raise FieldInvalid("manifest.resources", f"are more than {limit} in a frame", limit)
    found = [_resource(message) for message in frame.resources]
    _check(found)
    return found


def resource_message(resource: Resource) -> trace_pb2.Resource:
    """Return a resource as a message."""
    return trace_pb2.Resource(
        resource_id=resource.resource_id,
        layer=LAYER_NUMBERS[resource.layer],  # type: ignore[arg-type]
        kind=resource.kind,
        path=resource.path,
        title=resource.title,
        media_type=resource.media_type,
        digest=resource.digest,
        size_bytes=resource.size_bytes,
        parse_state=PARSE_STATE_NUMBERS[resource.parse_state],  # type: ignore[arg-type]
    )


def _resource(message: trace_pb2.Resource) -> Resource:
    return Resource(
        resource_id=message.resource_id,
        layer=LAYERS.get(message.layer, ""),
        kind=message.kind,
        path=message.path,
        title=message.title,
        media_type=message.media_type,
        digest=message.digest,
        size_bytes=message.size_bytes,
        parse_state=PARSE_STATES.get(message.parse_state, ""),
    )


def _check(found: Sequence[Resource]) -> None:
    for name, rule in _RULES.items():
        position = rules.first_wrong(rule, [getattr(resource, name) for resource in found])
        if position is not None:
            raise FieldInvalid(f"manifest.resources[{position}].{name}", rule.problem, rule.limit)

"""Contract messages to domain values and back; every field of a request is checked here."""

from collections.abc import Sequence
from dataclasses import dataclass

from ranker_service.domain import limits
from ranker_service.domain.candidate import Candidate, DeltaAction
from ranker_service.domain.errors import FieldInvalid
from ranker_service.domain.profile import Profile, ProfileInvalid
from ranker_service.domain.request import Activation, ActivationRequest
from ranker_service.domain.resource import EffectiveMemory, Layer, Resource
from ranker_service.domain.trace import Revisions, RunTrace
from ranker_service.memory.commits import Commit, DraftResource
from ranker_service.ports import Clock
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.wire import convert as wire
from ranker_service.workspace.indexer import BuildProgress
from ranker_service.workspace.workspace import ReadyIndex, Workspace
from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2

_LAYERS = {
    trace_pb2.LAYER_ORGANIZATION: Layer.ORGANIZATION,
    trace_pb2.LAYER_PROJECT: Layer.PROJECT,
    trace_pb2.LAYER_DRAFT: Layer.DRAFT,
}
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What GetEffectiveMemory pages through."""

    resources: tuple[Resource, ...]
    page_scope: tuple[str, ...]
    memory_hash: str
    commit_id: str
    index_revision: str
    unit_count: int


def layer_of(layer: trace_pb2.Layer.ValueType) -> Layer | None:
    """Return a layer; None where it is not said or not known."""
    return _LAYERS.get(layer)


def project_id(text: str) -> str:
    """Return a checked project id."""
    return limits.check_project_id(text)


def deadline_us(seconds_left: float | None, clock: Clock) -> int | None:
    """Return a call's deadline on the clock's monotonic scale; None where the caller set none."""
    return None if seconds_left is None else clock.monotonic_us() + int(seconds_left * MICROSECONDS)


def activation_request(
    request: pb.ActivateMemoryRequest, profiles: ProfileCatalog, deadline: int | None
) -> ActivationRequest:
    """Check a request field by field; raise FieldInvalid."""
    return ActivationRequest(
        project_id=project_id(request.project_id),
        query=limits.check_query(request.query),
        profile=_profile(request.profile, profiles),
        activation_state=_activation_state(request),
        max_fragments=_positive("max_fragments", request.max_fragments, request.HasField("max_fragments")),
        token_budget=_positive("token_budget", request.token_budget, request.HasField("token_budget")),
        kinds=tuple(limits.check_kinds(list(request.kinds))),
        layers=tuple(_known_layer(layer) for layer in request.layers),
        path_prefix=limits.check_path_prefix(request.path_prefix),
        deadline_us=deadline,
    )


def _activation_state(request: pb.ActivateMemoryRequest) -> bytes | None:
    return limits.check_activation_state(request.activation_state) if request.HasField("activation_state") else None


def _profile(name: str, profiles: ProfileCatalog) -> Profile:
    default = profiles.default()
    profile = profiles.find(name) if name else default
    if profile is None:
        raise FieldInvalid("profile", f"{name!r} is not known: `ranktrail profiles list` names those that are")
    if profile.index != default.index:
        raise FieldInvalid(
            "profile",
            f"{name!r} has other [index] settings than {default.name!r}: start the ranker with --profile {name}",
        )
    return profile


def _positive(field: str, value: int, present: bool) -> int | None:
    if present and value < 1:
        raise FieldInvalid(field, f"is {value}: send at least 1, or nothing for the profile's", 1)
    return value if present else None


def _known_layer(layer: trace_pb2.Layer.ValueType) -> Layer:
    known = layer_of(layer)
    if known is None:
        raise FieldInvalid("layers", "holds an unknown layer: organization, project or draft")
    return known


def activation_response(activation: Activation) -> pb.ActivateMemoryResponse:
    """Return the reply."""
    return pb.ActivateMemoryResponse(
        run_id=activation.run_id,
        revisions=wire.revisions_to_proto(activation.revisions),
        query_token_count=activation.query_token_count,
        query_tokens_encoded=activation.query_tokens_encoded,
        fragments=[_fragment(candidate) for candidate in activation.fragments],
        removed=activation.removed,
        next_activation_state=activation.next_state,
    )


def _fragment(candidate: Candidate) -> pb.Fragment:
    unit = candidate.unit
    return pb.Fragment(
        action=wire.delta_action_to_proto(candidate.delta_action),
        unit_key=unit.unit_key,
        resource_id=unit.resource.resource_id,
        path=unit.resource.path,
        heading_path=unit.heading_path,
        start_byte=unit.start_byte,
        end_byte=unit.end_byte,
        unit_digest=unit.digest,
        resource_digest=unit.resource.digest,
        token_count=unit.token_count,
        relevance=candidate.relevance,
        content=None if candidate.delta_action is DeltaAction.REUSE else unit.text,
    )


def draft_resource(header: pb.ResourceHeader) -> DraftResource:
    """Return a resource's header; whoever receives it checks it."""
    return DraftResource(
        resource_id=header.resource_id,
        path=header.path,
        size_bytes=header.size_bytes,
        digest=header.digest,
        kind=header.kind,
        title=header.title,
        media_type=header.media_type,
    )


def commit_response(commit: Commit, memory: EffectiveMemory | None) -> pb.CommitMemoryResponse:
    """Return what a commit did."""
    return pb.CommitMemoryResponse(
        commit_id=commit.commit_id,
        parent_commit_id=commit.parent_commit_id,
        resource_count=commit.resource_count,
        added_count=commit.added_count,
        changed_count=commit.changed_count,
        deleted_count=commit.deleted_count,
        effective_memory_hash="" if memory is None else memory.hash,
    )


def index_progress(step: BuildProgress | ReadyIndex) -> pb.EnsureIndexResponse:
    """Return a step of a build."""
    if isinstance(step, ReadyIndex):
        return pb.EnsureIndexResponse(
            phase="ready",
            index_revision=step.index_revision,
            unit_count=step.unit_count,
            effective_memory_hash=step.effective_memory_hash,
            token_vector_bytes=step.token_vector_bytes,
        )
    return pb.EnsureIndexResponse(
        phase=step.phase, done_count=step.done, total_count=step.total, token_vector_bytes=step.token_vector_bytes
    )


def memory_view(request: pb.GetEffectiveMemoryRequest, workspace: Workspace) -> MemoryView:
    """Return what the request asks for; raise FieldInvalid and ProjectNotFound."""
    layer = layer_of(request.layer)
    if layer is Layer.ORGANIZATION and not request.project_id:
        organization = workspace.layer_store("", layer)
        return MemoryView(organization.manifest(), ("", layer.value), "", organization.head(), "", 0)
    project = workspace.project(project_id(request.project_id))
    snapshot = project.loaded_snapshot()
    store = None if layer is None else workspace.layer_store(request.project_id, layer)
    return MemoryView(
        resources=project.memory.resources if store is None else store.manifest(),
        page_scope=(request.project_id, "" if layer is None else layer.value),
        memory_hash=project.memory.hash,
        commit_id="" if store is None else store.head(),
        index_revision="" if snapshot is None else snapshot.index_revision,
        unit_count=0 if snapshot is None else snapshot.unit_count,
    )


def memory_response(view: MemoryView, page: Sequence[Resource], next_page_token: str) -> pb.GetEffectiveMemoryResponse:
    """Return a page of a memory."""
    return pb.GetEffectiveMemoryResponse(
        resources=[wire.resource_to_proto(resource) for resource in page],
        next_page_token=next_page_token,
        resource_count=len(view.resources),
        effective_memory_hash=view.memory_hash,
        commit_id=view.commit_id,
        index_revision=view.index_revision,
        unit_count=view.unit_count,
    )


def profiles_response(profiles: ProfileCatalog) -> pb.ListProfilesResponse:
    """Return every profile, in name order."""
    default = profiles.default().name
    return pb.ListProfilesResponse(
        profiles=[
            pb.Profile(
                ranking_profile=_ranking_profile(entry.profile),
                toml=entry.toml,
                source=entry.source,
                is_default=entry.profile.name == default,
            )
            for entry in profiles.entries()
        ]
    )


def validation_response(toml: str) -> pb.ValidateProfileResponse:
    """Return what is wrong with a profile's text."""
    limits.check_text("toml", toml, limits.PROFILE_TOML_BYTES, required=True)
    try:
        return pb.ValidateProfileResponse(ranking_profile=_ranking_profile(Profile.from_toml(toml)))
    except ProfileInvalid as error:
        return pb.ValidateProfileResponse(problems=error.problems)


def _ranking_profile(profile: Profile) -> trace_pb2.RankingProfile:
    return trace_pb2.RankingProfile(name=profile.name, digest=profile.digest)


def corpus_result(query_id: str, trace: RunTrace) -> pb.CorpusQueryResult:
    """Return the end of a query's answer."""
    return pb.CorpusQueryResult(
        query_id=query_id,
        revisions=wire.revisions_to_proto(trace.revisions or Revisions()),
        candidate_count=len(trace.candidates),
        query_token_count=trace.query_token_count or 0,
        query_tokens_encoded=trace.query_tokens_encoded or 0,
        stage_latencies=[wire.latency_to_proto(latency) for latency in trace.stage_latencies],
        failure=None if trace.failure is None else wire.failure_to_proto(trace.failure),
    )

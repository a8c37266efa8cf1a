"""RankerService: convert in, call one thing, convert out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import grpc

from ranker_service.activations import Activations
from ranker_service.ports import Clock
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.rpc import convert
from ranker_service.rpc.commit import commit
from ranker_service.rpc.page_token import page_of
from ranker_service.rpc.rank_corpus import CorpusRanker
from ranker_service.rpc.storage_servicer import StorageParts, StorageServicer
from ranker_service.workspace.workspace import Workspace
from ranktrail.ranker.v1 import ranker_service_pb2 as pb

RUN_ID_METADATA = "ranktrail-run-id"


@dataclass(frozen=True, slots=True)
class RankerParts:
    """What the servicer calls."""

    activations: Activations
    workspace: Workspace
    profiles: ProfileCatalog
    corpus_ranker: CorpusRanker
    runtime: Callable[[], pb.GetRuntimeResponse]
    clock: Clock
    storage: StorageParts


class RankerServicer(StorageServicer):
    """Serves the ranker's contract."""

    def __init__(self, parts: RankerParts) -> None:
        super().__init__(parts.storage)
        self._parts = parts

    def ActivateMemory(
        self, request: pb.ActivateMemoryRequest, context: grpc.ServicerContext
    ) -> pb.ActivateMemoryResponse:
        """Answer a query."""
        deadline = convert.deadline_us(context.time_remaining(), self._parts.clock)
        activation_request = convert.activation_request(request, self._parts.profiles, deadline)

        def announce(run_id: str) -> None:
            context.send_initial_metadata(((RUN_ID_METADATA, run_id),))

        return convert.activation_response(self._parts.activations.activate(activation_request, announce))

    def CommitMemory(
        self, request_iterator: Iterator[pb.CommitMemoryRequest], context: grpc.ServicerContext
    ) -> pb.CommitMemoryResponse:
        """Publish resources."""
        return convert.commit_response(*commit(self._parts.workspace, request_iterator))

    def EnsureIndex(
        self, request: pb.EnsureIndexRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.EnsureIndexResponse]:
        """Report progress until the index is complete."""
        for step in self._parts.workspace.ensure_index(convert.project_id(request.project_id)):
            if not context.is_active():
                return
            yield convert.index_progress(step)

    def GetEffectiveMemory(
        self, request: pb.GetEffectiveMemoryRequest, context: grpc.ServicerContext
    ) -> pb.GetEffectiveMemoryResponse:
        """Page through a memory or one of its layers."""
        view = convert.memory_view(request, self._parts.workspace)
        page, next_token = page_of(view.resources, request.page_size, request.page_token, view.page_scope)
        return convert.memory_response(view, page, next_token)

    def RankCorpus(
        self, request_iterator: Iterator[pb.RankCorpusRequest], context: grpc.ServicerContext
    ) -> Iterator[pb.RankCorpusResponse]:
        """Rank queries over a corpus that the caller sends."""
        yield from self._parts.corpus_ranker.rank(request_iterator)

    def ClearProjectStorage(
        self, request: pb.ClearProjectStorageRequest, context: grpc.ServicerContext
    ) -> pb.ClearProjectStorageResponse:
        """Remove a project's commits and indexes."""
        freed = self._parts.workspace.clear_project(convert.project_id(request.project_id))
        return pb.ClearProjectStorageResponse(deleted_bytes=freed)

    def DeleteProject(
        self, request: pb.DeleteProjectRequest, context: grpc.ServicerContext
    ) -> pb.DeleteProjectResponse:
        """Forget a project."""
        freed = self._parts.workspace.delete_project(convert.project_id(request.project_id))
        return pb.DeleteProjectResponse(deleted_bytes=freed)

    def ListProfiles(self, request: pb.ListProfilesRequest, context: grpc.ServicerContext) -> pb.ListProfilesResponse:
        """List the ranking profiles."""
        return convert.profiles_response(self._parts.profiles)

    def ValidateProfile(
        self, request: pb.ValidateProfileRequest, context: grpc.ServicerContext
    ) -> pb.ValidateProfileResponse:
        """Check a profile's text."""
        return convert.validation_response(request.toml)

    def GetRuntime(self, request: pb.GetRuntimeRequest, context: grpc.ServicerContext) -> pb.GetRuntimeResponse:
        """Say what this process is and does."""
        return self._parts.runtime()

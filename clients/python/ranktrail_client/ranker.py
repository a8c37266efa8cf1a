"""The ranker's methods, each under its name in the contract and with its messages."""

from collections.abc import Iterable, Iterator

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1.ranker_service_pb2_grpc import RankerServiceStub
from ranktrail_client.link import READ_DEADLINE, WRITE_DEADLINE, Link

# A first activation may load a model.
ACTIVATION_DEADLINE = 120.0
COMMIT_DEADLINE = 3_600.0


class RankerCalls:
    """Retrieves from memories, and keeps them. Every method raises RanktrailError; `timeout` is in seconds."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._stub = RankerServiceStub(link.channel)

    @property
    def address(self) -> str:
        """Where the calls go."""
        return self._link.address.target

    def check_health(self, timeout: float = READ_DEADLINE) -> bool:
        """Say whether the ranker serves; raise ServiceUnreachable when nothing answers."""
        return self._link.check_health(timeout)

    def activate_memory(
        self, request: pb.ActivateMemoryRequest, timeout: float = ACTIVATION_DEADLINE
    ) -> pb.ActivateMemoryResponse:
        """Answer a query. Never repeated by itself: each call is a Run."""
        return self._link.write(self._stub.ActivateMemory, request, timeout)

    def commit_memory(
        self, frames: Iterable[pb.CommitMemoryRequest], timeout: float = COMMIT_DEADLINE
    ) -> pb.CommitMemoryResponse:
        """Publish a commit; `frames.commit_frames` makes its frames."""
        return self._link.send(self._stub.CommitMemory, frames, timeout)

    def ensure_index(
        self, request: pb.EnsureIndexRequest, timeout: float | None = None
    ) -> Iterator[pb.EnsureIndexResponse]:
        """Yield the progress of the project's index; the last message says "ready"."""
        return self._link.stream(self._stub.EnsureIndex, request, timeout)

    def get_effective_memory(
        self, request: pb.GetEffectiveMemoryRequest, timeout: float = READ_DEADLINE
    ) -> pb.GetEffectiveMemoryResponse:
        """Return one page of a memory; `paging.pages` turns them."""
        return self._link.read(self._stub.GetEffectiveMemory, request, timeout)

    def rank_corpus(
        self, frames: Iterable[pb.RankCorpusRequest], timeout: float | None = None
    ) -> Iterator[pb.RankCorpusResponse]:
        """Rank queries over a corpus sent along; nothing is recorded."""
        return self._link.exchange(self._stub.RankCorpus, frames, timeout)

    def clear_project_storage(
        self, request: pb.ClearProjectStorageRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.ClearProjectStorageResponse:
        """Remove a project's commits and indexes."""
        return self._link.write(self._stub.ClearProjectStorage, request, timeout)

    def delete_project(
        self, request: pb.DeleteProjectRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.DeleteProjectResponse:
        """Remove a project's storage and forget the project."""
        return self._link.write(self._stub.DeleteProject, request, timeout)

    def list_profiles(
        self, request: pb.ListProfilesRequest | None = None, timeout: float = READ_DEADLINE
    ) -> pb.ListProfilesResponse:
        """List the ranking profiles."""
        return self._link.read(self._stub.ListProfiles, request or pb.ListProfilesRequest(), timeout)

    def validate_profile(
        self, request: pb.ValidateProfileRequest, timeout: float = READ_DEADLINE
    ) -> pb.ValidateProfileResponse:
        """Check a profile's text."""
        return self._link.read(self._stub.ValidateProfile, request, timeout)

    def check_memory(
        self, request: pb.CheckMemoryRequest, timeout: float | None = None
    ) -> Iterator[pb.CheckMemoryResponse]:
        """Yield what is wrong with commits and journal, and how far the check is."""
        return self._link.stream(self._stub.CheckMemory, request, timeout)

    def backup_memory(self, timeout: float | None = None) -> Iterator[pb.BackupMemoryResponse]:
        """Yield a copy of the commits, frame by frame."""
        return self._link.stream(self._stub.BackupMemory, pb.BackupMemoryRequest(), timeout)

    def get_runtime(
        self, request: pb.GetRuntimeRequest | None = None, timeout: float = READ_DEADLINE
    ) -> pb.GetRuntimeResponse:
        """Say what the ranker is and does now."""
        return self._link.read(self._stub.GetRuntime, request or pb.GetRuntimeRequest(), timeout)

"""The ranker's methods, each under its name in the contract and with its messages."""

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail_client.async_link import AsyncCalls
from ranktrail_client.link import Calls
from ranktrail_client.method import READ_DEADLINE, WRITE_DEADLINE
from ranktrail_client.methods import Exchange, Stream, Unary, Upload

# A first activation may load a model.
ACTIVATION_DEADLINE = 120.0
COMMIT_DEADLINE = 3_600.0


class RankerMethods:
    """Retrieves from memories, and keeps them."""

    SERVICE = "ranktrail.ranker.v1.RankerService"

    activate_memory = Unary(pb.ActivateMemoryRequest, pb.ActivateMemoryResponse, ACTIVATION_DEADLINE, repeats=False)
    """Answer a query. Never repeated by itself: each call is a Run."""

    commit_memory = Upload(pb.CommitMemoryRequest, pb.CommitMemoryResponse, COMMIT_DEADLINE, repeats=False)
    """Publish a commit; `frames.commit_frames` makes its frames."""

    ensure_index = Stream(pb.EnsureIndexRequest, pb.EnsureIndexResponse)
    """Yield the progress of the project's index; the last message says "ready"."""

    get_effective_memory = Unary(pb.GetEffectiveMemoryRequest, pb.GetEffectiveMemoryResponse, READ_DEADLINE)
    """Return one page of a memory; `paging` turns them."""

    rank_corpus = Exchange(pb.RankCorpusRequest, pb.RankCorpusResponse, repeats=False)
    """Rank queries over a corpus sent along; nothing is recorded."""

    clear_project_storage = Unary(
        pb.ClearProjectStorageRequest, pb.ClearProjectStorageResponse, WRITE_DEADLINE, repeats=False
    )
    """Remove a project's commits and indexes."""

    delete_project = Unary(pb.DeleteProjectRequest, pb.DeleteProjectResponse, WRITE_DEADLINE, repeats=False)
    """Remove a project's storage and forget the project."""

    list_profiles = Unary(pb.ListProfilesRequest, pb.ListProfilesResponse, READ_DEADLINE)
    """List the ranking profiles."""

    validate_profile = Unary(pb.ValidateProfileRequest, pb.ValidateProfileResponse, READ_DEADLINE)
    """Check a profile's text."""

    check_memory = Stream(pb.CheckMemoryRequest, pb.CheckMemoryResponse)
    """Yield what is wrong with commits and journal, and how far the check is."""

    backup_memory = Stream(pb.BackupMemoryRequest, pb.BackupMemoryResponse)
    """Yield a copy of the commits, frame by frame."""

    get_runtime = Unary(pb.GetRuntimeRequest, pb.GetRuntimeResponse, READ_DEADLINE)
    """Say what the ranker is and does now."""


class RankerCalls(RankerMethods, Calls):
    """The ranker's calls, each of which waits for its answer."""


class AsyncRankerCalls(RankerMethods, AsyncCalls):
    """The ranker's calls, each of which is awaited."""

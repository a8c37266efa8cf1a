"""The history service's methods, each under its name in the contract and with its messages."""

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail_client.async_link import AsyncCalls
from ranktrail_client.link import Calls
from ranktrail_client.method import READ_DEADLINE, WRITE_DEADLINE
from ranktrail_client.methods import Exchange, Stream, Unary


def _watch_on(request: pb.WatchRetrievalRunsRequest, response: pb.WatchRetrievalRunsResponse) -> None:
    request.after_change_sequence = response.change_sequence


class HistoryMethods:
    """Remembers Runs."""

    SERVICE = "ranktrail.history.v1.HistoryService"

    record_retrieval_runs = Exchange(pb.RecordRetrievalRunsRequest, pb.RecordRetrievalRunsResponse, repeats=False)
    """Record Runs."""

    put_corpus = Exchange(pb.PutCorpusRequest, pb.PutCorpusResponse, repeats=False)
    """Store corpora."""

    list_retrieval_runs = Unary(pb.ListRetrievalRunsRequest, pb.ListRetrievalRunsResponse, READ_DEADLINE)
    """Return one page of Runs, newest first; `paging` turns them."""

    get_retrieval_run = Unary(pb.GetRetrievalRunRequest, pb.GetRetrievalRunResponse, READ_DEADLINE)
    """Return one Run with its candidates."""

    list_run_resources = Unary(pb.ListRunResourcesRequest, pb.ListRunResourcesResponse, READ_DEADLINE)
    """Return one page of a Run's Effective Memory; `paging` turns them."""

    read_run_resource = Stream(pb.ReadRunResourceRequest, pb.ReadRunResourceResponse)
    """Yield the body of one resource of a Run's Effective Memory."""

    watch_retrieval_runs = Stream(pb.WatchRetrievalRunsRequest, pb.WatchRetrievalRunsResponse, resume=_watch_on)
    """Yield each change of a Run's state, without end; a broken watch is taken up again where it ended."""

    clear_retrieval_runs = Unary(
        pb.ClearRetrievalRunsRequest, pb.ClearRetrievalRunsResponse, WRITE_DEADLINE, repeats=False
    )
    """Delete Runs that no case pins."""

    check_store = Stream(pb.CheckStoreRequest, pb.CheckStoreResponse)
    """Yield what is wrong with the store, and how far the check is."""

    backup_store = Stream(pb.BackupStoreRequest, pb.BackupStoreResponse)
    """Yield a copy of the store, frame by frame."""

    get_runtime = Unary(pb.GetRuntimeRequest, pb.GetRuntimeResponse, READ_DEADLINE)
    """Say what history is and does now."""


class HistoryCalls(HistoryMethods, Calls):
    """History's calls, each of which waits for its answer."""


class AsyncHistoryCalls(HistoryMethods, AsyncCalls):
    """History's calls, each of which is awaited."""

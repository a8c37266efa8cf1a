"""The history service's methods, each under its name in the contract and with its messages."""

import time
from collections.abc import Callable, Iterable, Iterator

from ranktrail.history.v1 import history_service_pb2 as pb
from ranktrail.history.v1.history_service_pb2_grpc import HistoryServiceStub
from ranktrail_client.errors import NoAnswer, ServiceUnreachable
from ranktrail_client.link import READ_DEADLINE, WRITE_DEADLINE, Link

# Seconds before each further attempt to take a broken watch up again; each message starts the row anew.
WATCH_DELAYS = (0.2, 0.4, 0.8, 1.6, 3.2, 5.0)


class HistoryCalls:
    """Remembers Runs. Every method raises RanktrailError; `timeout` is in seconds."""

    def __init__(self, link: Link, sleep: Callable[[float], None] = time.sleep) -> None:
        self._link = link
        self._sleep = sleep
        self._stub = HistoryServiceStub(link.channel)

    @property
    def address(self) -> str:
        """Where the calls go."""
        return self._link.address.target

    def check_health(self, timeout: float = READ_DEADLINE) -> bool:
        """Say whether history serves; raise ServiceUnreachable when nothing answers."""
        return self._link.check_health(timeout)

    def record_retrieval_runs(
        self, frames: Iterable[pb.RecordRetrievalRunsRequest], timeout: float | None = None
    ) -> Iterator[pb.RecordRetrievalRunsResponse]:
        """Record Runs."""
        return self._link.exchange(self._stub.RecordRetrievalRuns, frames, timeout)

    def put_corpus(
        self, frames: Iterable[pb.PutCorpusRequest], timeout: float | None = None
    ) -> Iterator[pb.PutCorpusResponse]:
        """Store corpora."""
        return self._link.exchange(self._stub.PutCorpus, frames, timeout)

    def list_retrieval_runs(
        self, request: pb.ListRetrievalRunsRequest, timeout: float = READ_DEADLINE
    ) -> pb.ListRetrievalRunsResponse:
        """Return one page of Runs, newest first; `paging.pages` turns them."""
        return self._link.read(self._stub.ListRetrievalRuns, request, timeout)

    def get_retrieval_run(
        self, request: pb.GetRetrievalRunRequest, timeout: float = READ_DEADLINE
    ) -> pb.GetRetrievalRunResponse:
        """Return one Run with its candidates."""
        return self._link.read(self._stub.GetRetrievalRun, request, timeout)

    def list_run_resources(
        self, request: pb.ListRunResourcesRequest, timeout: float = READ_DEADLINE
    ) -> pb.ListRunResourcesResponse:
        """Return one page of a Run's Effective Memory; `paging.pages` turns them."""
        return self._link.read(self._stub.ListRunResources, request, timeout)

    def read_run_resource(
        self, request: pb.ReadRunResourceRequest, timeout: float | None = None
    ) -> Iterator[pb.ReadRunResourceResponse]:
        """Yield the body of one resource of a Run's Effective Memory."""
        return self._link.stream(self._stub.ReadRunResource, request, timeout)

    def watch_retrieval_runs(self, request: pb.WatchRetrievalRunsRequest) -> Iterator[pb.WatchRetrievalRunsResponse]:
        """Yield each change of a Run's state, without end; a broken watch is taken up again where it ended."""
        asked = pb.WatchRetrievalRunsRequest()
        asked.CopyFrom(request)
        delays = iter(WATCH_DELAYS)
        while True:
            try:
                for response in self._link.stream(self._stub.WatchRetrievalRuns, asked, None):
                    delays = iter(WATCH_DELAYS)
                    asked.after_change_sequence = response.change_sequence
                    yield response
            except ServiceUnreachable as error:
                delay = next(delays, None)
                if delay is None or isinstance(error, NoAnswer):
                    raise
                self._sleep(delay)
            else:
                return

    def clear_retrieval_runs(
        self, request: pb.ClearRetrievalRunsRequest, timeout: float = WRITE_DEADLINE
    ) -> pb.ClearRetrievalRunsResponse:
        """Delete Runs that no case pins."""
        return self._link.write(self._stub.ClearRetrievalRuns, request, timeout)

    def check_store(
        self, request: pb.CheckStoreRequest, timeout: float | None = None
    ) -> Iterator[pb.CheckStoreResponse]:
        """Yield what is wrong with the store, and how far the check is."""
        return self._link.stream(self._stub.CheckStore, request, timeout)

    def backup_store(self, timeout: float | None = None) -> Iterator[pb.BackupStoreResponse]:
        """Yield a copy of the store, frame by frame."""
        return self._link.stream(self._stub.BackupStore, pb.BackupStoreRequest(), timeout)

    def get_runtime(
        self, request: pb.GetRuntimeRequest | None = None, timeout: float = READ_DEADLINE
    ) -> pb.GetRuntimeResponse:
        """Say what history is and does now."""
        return self._link.read(self._stub.GetRuntime, request or pb.GetRuntimeRequest(), timeout)

"""The part of RankerService that looks after storage, which needs no model."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import grpc

from ranktrail.ranker.v1 import ranker_service_pb2 as pb
from ranktrail.ranker.v1 import ranker_service_pb2_grpc as pb_grpc
from ranktrail_serving.patience import within
from ranktrail_serving.server import Stopping
from ranktrail_serving.storage import BackupPart, Event
from ranktrail_serving.storage_messages import backup_frames, check_events

MAX_BACKUP_SECONDS = 3_600
"""How long a caller may take to read a backup, whose links take up space meanwhile."""


@dataclass(frozen=True, slots=True)
class StorageParts:
    """What the servicer calls; `check` is told whether to repair."""

    check: Callable[[bool], Iterator[Event]]
    backup: Callable[[], Generator[BackupPart]]
    version: str
    stopping: Stopping


class StorageServicer(pb_grpc.RankerServiceServicer):
    """Checks and copies what the ranker keeps."""

    def __init__(self, storage: StorageParts) -> None:
        self._storage = storage

    def CheckMemory(
        self, request: pb.CheckMemoryRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.CheckMemoryResponse]:
        """Check commits and journal, until the client or the server ends it."""
        stopping = self._storage.stopping

        def is_stopped() -> bool:
            return stopping.is_set or not context.is_active()

        for event in check_events(self._storage.check(request.repair), is_stopped):
            yield pb.CheckMemoryResponse(event=event)

    def BackupMemory(
        self, _request: pb.BackupMemoryRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.BackupMemoryResponse]:
        """Stream a copy of the commits."""
        parts = within(self._storage.backup(), MAX_BACKUP_SECONDS, context.cancel)
        for frame in backup_frames(parts, self._storage.version):
            yield pb.BackupMemoryResponse(frame=frame)

"""A ranker for a look at what it keeps: serves checks and backups, loads no model and changes nothing by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain

import grpc

from ranker_service.config import Config
from ranker_service.memory.durable import make_directory
from ranker_service.memory.memory_check import MemoryFiles
from ranker_service.recorder.spool_check import SpoolCheck
from ranker_service.rpc.reasons import row_of
from ranker_service.rpc.storage_servicer import StorageParts, StorageServicer
from ranktrail.ranker.v1 import ranker_service_pb2, ranker_service_pb2_grpc
from ranktrail_serving.errors import StartRefused
from ranktrail_serving.file_lock import FileLock
from ranktrail_serving.interceptor import CallInterceptor
from ranktrail_serving.limits import CallLimits
from ranktrail_serving.listener import UnixAddress, parse_address
from ranktrail_serving.ownership import require_own
from ranktrail_serving.server import REFLECTION_METHOD, RpcServer, Stopping
from ranktrail_serving.storage import Event

SERVICE = ranker_service_pb2.DESCRIPTOR.services_by_name["RankerService"].full_name
STORAGE_LIMITS = {f"/{SERVICE}/CheckMemory": 1, f"/{SERVICE}/BackupMemory": 2}
STORAGE_CEILINGS = dict.fromkeys(STORAGE_LIMITS, 21_600.0)


@dataclass(frozen=True, slots=True)
class Inspection:
    """An inspection that serves."""

    server: RpcServer
    lock: FileLock

    def stop(self) -> None:
        """End calls."""
        self.server.stop()
        self.lock.release()


def start(config: Config) -> Inspection:
    """Start an inspection; raise StartRefused."""
    address = parse_address(config.address)
    if not isinstance(address, UnixAddress):
        raise StartRefused("--inspect serves on a Unix socket only: give --address unix:PATH, or none")
    try:
        for directory in (config.directory, config.run_directory):
            make_directory(directory)
        require_own_directories(config)
    except OSError as error:
        text = f"--data-dir {config.data_dir} cannot be used ({error.strerror}): choose another folder"
        raise StartRefused(text) from error
    lock = FileLock(config.directory / "lock", f"data directory {config.directory}")
    stopping, limits = (
        Stopping(),
        CallLimits({**STORAGE_LIMITS, REFLECTION_METHOD: 2}, other_calls=8, ceilings=STORAGE_CEILINGS),
    )
    # The rest of the contract is answered as not implemented.
    servicer = StorageServicer(storage_parts(config, stopping))  # type: ignore[abstract]

    def register(server: grpc.Server) -> None:
        ranker_service_pb2_grpc.add_RankerServiceServicer_to_server(servicer, server)

    server = RpcServer(address, register, [SERVICE], limits, [CallInterceptor(limits, row_of)], stopping)
    server.start()
    return Inspection(server, lock)


def require_own_directories(config: Config) -> None:
    """Raise DirectoryForeign when somebody else owns the data directory or a part of it."""
    for directory in (config.data_dir, config.directory, config.run_directory):
        require_own(directory, "data directory")


def storage_parts(config: Config, stopping: Stopping) -> StorageParts:
    """Return what checks and copies a data directory."""
    memory = MemoryFiles(config.directory)
    spool = SpoolCheck(config.directory / "spool", config.data_dir)

    def check(repair: bool) -> Iterator[Event]:
        return chain(memory.check(repair=repair), spool.check(repair=repair))

    return StorageParts(check, memory.backup, version("ranktrail"), stopping)

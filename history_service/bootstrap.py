"""Puts the service together; knows every concrete class, and is the only one to."""

import logging
import math
import secrets
import time
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Self

import grpc

from history_service.config import Config
from history_service.domain.case_id import case_id
from history_service.domain.errors import DirectoryUnfit
from history_service.rpc import evaluation_servicer, history_servicer
from history_service.rpc.candidates import candidates_digest
from history_service.rpc.reasons import row_of
from history_service.store.awaited import AwaitedCorpora
from history_service.store.blobs import BlobStore
from history_service.store.database import Database
from history_service.store.directory import lock_directory, make_private_tree
from history_service.store.leases import Leases
from history_service.store.snapshot import leftover_snapshots, remove_leftover
from history_service.use_cases.backup_store import BackupStore
from history_service.use_cases.benchmark import Benchmark
from history_service.use_cases.changes import Changes
from history_service.use_cases.check_store import CheckStore
from history_service.use_cases.clear_history import ClearHistory
from history_service.use_cases.collect_garbage import CollectGarbage
from history_service.use_cases.create_case import CreateCase
from history_service.use_cases.delete_case import DeleteCase
from history_service.use_cases.describe_runtime import describe_holdings
from history_service.use_cases.export_set import ExportSet
from history_service.use_cases.import_set import ImportSet
from history_service.use_cases.measured_cases import MeasuredCases
from history_service.use_cases.prune_history import PruneHistory, Retention
from history_service.use_cases.put_corpus import PutCorpus
from history_service.use_cases.read_cases import ReadCases
from history_service.use_cases.read_runs import ReadRuns
from history_service.use_cases.record_run import RecordRun
from history_service.use_cases.recover_interrupted import Abandonment, recover_interrupted
from history_service.use_cases.replace_judgments import ReplaceJudgments
from history_service.use_cases.watch_runs import WatchRuns
from ranktrail.evaluation.v1 import evaluation_service_pb2_grpc
from ranktrail.history.v1 import history_service_pb2_grpc
from ranktrail_serving.bearer import TokenFile, TokenInterceptor
from ranktrail_serving.interceptor import CallInterceptor
from ranktrail_serving.limits import CallLimits
from ranktrail_serving.listener import TcpAddress, UnixAddress
from ranktrail_serving.ownership import require_own
from ranktrail_serving.server import REFLECTION_METHOD, RpcServer, Stopping

logger = logging.getLogger(__name__)

CONTRACT_VERSION = "v1.0"
DATABASE_NAME = "local.db"
STREAM_LIMITS = {
    history_servicer.RECORD_METHOD: 8,
    history_servicer.PUT_CORPUS_METHOD: 4,
    history_servicer.WATCH_METHOD: 16,
    history_servicer.READ_BODY_METHOD: 8,
    history_servicer.CHECK_METHOD: 1,
    history_servicer.BACKUP_METHOD: 2,
    evaluation_servicer.EXPORT_METHOD: 4,
    evaluation_servicer.IMPORT_METHOD: 2,
    REFLECTION_METHOD: 4,
}
OTHER_CALL_LIMIT = 64
_HOURS = 3_600.0
STREAM_CEILINGS = {
    # A ranker and a page stay connected for as long as they run.
    history_servicer.RECORD_METHOD: math.inf,
    history_servicer.WATCH_METHOD: math.inf,
    history_servicer.CHECK_METHOD: 6 * _HOURS,
    history_servicer.BACKUP_METHOD: 2 * _HOURS,
    evaluation_servicer.IMPORT_METHOD: 6 * _HOURS,
}
"""Seconds that a stream may take, where that is not the edge's usual time."""
CORPUS_GRACE_US = 3_600_000_000
"""How long a corpus may wait for its first Run; also the time between two full collections."""


class HistoryService:
    """The whole service of one data directory, from lock to listener. Close it, whatever happens."""

    def __init__(self, config: Config) -> None:
        """Take the data directory, open it, fail interrupted Runs and bind the address.

        Raise StoreUnusable, WriteFailed or the edge's StartRefused when one of these cannot be done.
        """
        try:
            self._open(config)
        except OSError as error:
            raise DirectoryUnfit(f"data directory {config.data_dir} cannot be used: {error}") from error

    def _open(self, config: Config) -> None:
        with ExitStack() as opening:
            directory = make_private_tree(config.data_dir, "history")
            for path in (config.data_dir, directory):
                require_own(path, "data directory")
            opening.callback(lock_directory(directory).release)
            self._database = Database(directory / DATABASE_NAME)
            opening.callback(self._database.close)
            if not config.inspect:
                _tidy(self._database, directory)
            self._serve(config, directory, opening)
            self._closing = opening.pop_all()

    @property
    def target(self) -> str:
        """Where it listens, as a client names it."""
        return self._server.target

    def start(self) -> None:
        """Serve."""
        self._server.start()

    def close(self) -> None:
        """Stop serving, then close and unlock everything."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _serve(self, config: Config, directory: Path, opening: ExitStack) -> None:
        changes, stopping = Changes(), Stopping()
        limits = CallLimits(STREAM_LIMITS, OTHER_CALL_LIMIT, STREAM_CEILINGS)
        blobs = BlobStore(make_private_tree(directory, "evaluation-corpora", "blobs"), sweep=not config.inspect)
        measured = MeasuredCases()
        leases, awaited = Leases(), AwaitedCorpora(monotonic_us, CORPUS_GRACE_US)
        abandonment = Abandonment(self._database, changes, now_us, monotonic_us, config.interrupted_grace_us)
        opening.callback(abandonment.close)
        collect = CollectGarbage(self._database, blobs, leases, awaited)
        prune = PruneHistory(self._database, collect, config.retain_runs)
        if not config.inspect:
            opening.callback(Retention(prune, changes, monotonic_us, CORPUS_GRACE_US).close)
        history = history_servicer.HistoryServicer(
            process=_process(config),
            holdings=partial(describe_holdings, self._database),
            record=RecordRun(self._database, changes, awaited),
            abandonment=abandonment,
            put_corpus=PutCorpus(self._database, blobs, leases, awaited, now_us),
            read=ReadRuns(self._database, blobs),
            watch=WatchRuns(self._database, changes),
            clear=ClearHistory(self._database, collect, awaited),
            check=CheckStore(directory, self._database, blobs, leases, collect, now_us, candidates_digest),
            backup=BackupStore(directory, self._database, blobs, leases, collect, monotonic_us),
            limits=limits,
            stopping=stopping,
        )
        evaluation = evaluation_servicer.EvaluationServicer(
            create=CreateCase(self._database, now_us, new_case_id),
            read=ReadCases(self._database),
            delete=DeleteCase(self._database, prune),
            replace=ReplaceJudgments(self._database, measured, now_us),
            benchmark=Benchmark(self._database, measured),
            exporter=ExportSet(self._database, blobs, leases, measured, directory, now_us, monotonic_us),
            importer=ImportSet(self._database, blobs, leases, changes, directory, now_us),
        )

        def register(server: grpc.Server) -> None:
            history_service_pb2_grpc.add_HistoryServiceServicer_to_server(history, server)
            evaluation_service_pb2_grpc.add_EvaluationServiceServicer_to_server(evaluation, server)

        services = (history_servicer.SERVICE, evaluation_servicer.SERVICE)
        credentials = config.certificates.server_credentials()
        guards = [*_token_guards(config), CallInterceptor(limits, row_of)]
        _make_socket_directory(config)
        self._server = RpcServer(config.address, register, services, limits, guards, stopping, credentials)
        opening.callback(self._server.stop)


def _tidy(database: Database, directory: Path) -> None:
    """Fail the Runs and remove the snapshot that a killed process left."""
    for leftover in leftover_snapshots(directory):
        remove_leftover(leftover)
    interrupted = recover_interrupted(database, now_us)
    if interrupted:
        logger.warning("%d Runs were interrupted", interrupted)


def new_case_id() -> str:
    """Return an id that no case has."""
    return case_id(now_us(), secrets.token_bytes(10))


def now_us() -> int:
    """Return UTC microseconds since 1970."""
    return time.time_ns() // 1_000


def monotonic_us() -> int:
    """Return microseconds that never run backwards."""
    return time.monotonic_ns() // 1_000


def _process(config: Config) -> history_servicer.Process:
    return history_servicer.Process(
        version=version("ranktrail"),
        contract_version=CONTRACT_VERSION,
        instance_id=secrets.token_hex(16),
        start_time_us=now_us(),
        data_dir=str(config.data_dir),
    )


def _token_guards(config: Config) -> list[grpc.ServerInterceptor]:
    if not isinstance(config.address, TcpAddress):
        return []
    path = make_private_tree(config.data_dir, "run") / "token"
    require_own(path.parent, "directory")
    return [TokenInterceptor(TokenFile(path, lambda: secrets.token_urlsafe(32)), row_of)]


def _make_socket_directory(config: Config) -> None:
    if isinstance(config.address, UnixAddress):
        directory, run = config.address.path.parent, config.data_dir / "run"
        # Another directory is its owner's: it is made when it is missing, and left as it is otherwise.
        make_private_tree(config.data_dir, "run") if directory == run else make_private_tree(directory)

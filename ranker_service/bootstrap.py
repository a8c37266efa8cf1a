"""Puts a ranker together; alone knows the concrete classes."""

import gc
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path

import grpc
from threadpoolctl import threadpool_limits

from ranker_service.activations import Activations
from ranker_service.config import Config
from ranker_service.domain.profile import IndexSettings, Profile, ProfileInvalid
from ranker_service.index.lexical import warm_up
from ranker_service.inspection import SERVICE, STORAGE_CEILINGS, STORAGE_LIMITS, require_own_directories, storage_parts
from ranker_service.memory.chunker import chunker_revision
from ranker_service.memory.durable import make_directory
from ranker_service.memory.parsers import PARSER_REVISION
from ranker_service.models.encoder import TransformerEncoder
from ranker_service.models.rerankers import Rerankers
from ranker_service.models.source import ModelUnavailable, resolve
from ranker_service.models.transformer import choose_dtype
from ranker_service.pipeline import Pipeline
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.recorder.connection import HistoryTarget
from ranker_service.recorder.sink import Recorder, RecordingOff
from ranker_service.rpc.rank_corpus import CorpusRanker
from ranker_service.rpc.reasons import row_of
from ranker_service.rpc.runtime import Identity, Runtime
from ranker_service.rpc.servicer import RankerParts, RankerServicer
from ranker_service.system import SystemClock, jitter, new_instance_id, new_run_id, new_token
from ranker_service.workspace.workspace import Workspace
from ranktrail.ranker.v1 import ranker_service_pb2_grpc
from ranktrail_serving.bearer import TokenFile, TokenInterceptor
from ranktrail_serving.errors import StartRefused
from ranktrail_serving.file_lock import FileLock
from ranktrail_serving.interceptor import CallInterceptor
from ranktrail_serving.limits import CallLimits
from ranktrail_serving.listener import Address, UnixAddress, dial_target, is_local, parse_address
from ranktrail_serving.server import REFLECTION_METHOD, RpcServer, Stopping

_LOG = logging.getLogger(__name__)


LIMITS = CallLimits(
    {
        f"/{SERVICE}/ActivateMemory": 32,
        f"/{SERVICE}/CommitMemory": 8,
        f"/{SERVICE}/EnsureIndex": 12,
        f"/{SERVICE}/RankCorpus": 2,
        **STORAGE_LIMITS,
        REFLECTION_METHOD: 2,
    },
    other_calls=8,
    ceilings={f"/{SERVICE}/EnsureIndex": 86_400.0, f"/{SERVICE}/RankCorpus": 21_600.0, **STORAGE_CEILINGS},
)
"""Calls served at once, one more is OVERLOADED at once; and the seconds of streams that may take long."""


@dataclass(frozen=True, slots=True)
class Ranker:
    """A ranker that serves."""

    server: RpcServer
    workspace: Workspace
    recorder: Recorder | RecordingOff
    lock: FileLock

    def stop(self) -> None:
        """End calls, then builds, then delivery; the journal keeps what was not delivered."""
        self.server.stop()
        self.workspace.close()
        self.recorder.close()
        self.lock.release()


def start(config: Config) -> Ranker:
    """Build and start a ranker; raise StartRefused."""
    try:
        for directory in (config.directory, config.run_directory):  # a data_dir that is there keeps its mode
            make_directory(directory)
        require_own_directories(config)
    except OSError as error:
        text = f"--data-dir {config.data_dir} cannot be used ({error.strerror}): choose another folder"
        raise StartRefused(text) from error
    address = parse_address(config.address, encrypted=config.certificates.encrypts)
    lock = FileLock(config.directory / "lock", f"data directory {config.directory}")
    try:
        return _start(config, address, lock)
    except (ModelUnavailable, ProfileInvalid) as error:
        raise StartRefused(str(error)) from error


def _start(config: Config, address: Address, lock: FileLock) -> Ranker:
    # Vector products are small: more threads than one only wait for each other.
    threadpool_limits(1, user_api="blas")
    clock, instance_id = SystemClock(), new_instance_id()
    profiles = ProfileCatalog.load(config.directory / "profiles", config.profile)
    default = profiles.default()
    encoder = _encoder(config, default.index)
    rerankers = Rerankers(config.cross_encoder, encoder.dtype, allow_download=config.allow_download)
    recorder = _recorder(config, clock)
    workspace = Workspace(config.directory, encoder, default.index, recorder.corpora)
    pipeline = Pipeline(clock, encoder, rerankers)
    identity = Identity(
        instance_id=instance_id,
        data_dir=config.data_dir,
        model_revision=encoder.revision,
        model_dtype=encoder.dtype,
        reranker_revision=_reranker_revision(rerankers, default),
        parser_revision=PARSER_REVISION,
        chunker_revision=chunker_revision(default.index, encoder.window),
    )
    stopping = Stopping()
    parts = RankerParts(
        activations=Activations(workspace, pipeline, recorder, clock, new_run_id, instance_id),
        workspace=workspace,
        profiles=profiles,
        corpus_ranker=CorpusRanker(_temporary(config.directory), encoder, pipeline, profiles),
        runtime=Runtime(identity, config.directory, workspace, recorder.runtime, clock),
        clock=clock,
        storage=storage_parts(config, stopping),
    )
    recorder.start()
    gc.collect()
    gc.freeze()  # a collection then passes over the libraries' own objects, which takes a tenth of a second
    servicer = RankerServicer(parts)
    server = _server(config, address, servicer, stopping)
    server.start()
    _LOG.info("ranker %s serves at %s, model %s", instance_id, server.target, encoder.revision)
    return Ranker(server, workspace, recorder, lock)


def _server(config: Config, address: Address, servicer: RankerServicer, stopping: Stopping) -> RpcServer:
    interceptors: list[grpc.ServerInterceptor] = [CallInterceptor(LIMITS, row_of)]
    if not isinstance(address, UnixAddress):
        interceptors.insert(0, TokenInterceptor(_token(config), row_of))

    def register(server: grpc.Server) -> None:
        ranker_service_pb2_grpc.add_RankerServiceServicer_to_server(servicer, server)

    credentials = config.certificates.server_credentials()
    return RpcServer(address, register, [SERVICE], LIMITS, interceptors, stopping, credentials)


def _token(config: Config) -> TokenFile:
    return TokenFile(config.run_directory / "token", new_token)


def _encoder(config: Config, settings: IndexSettings) -> TransformerEncoder:
    folder = resolve(config.encoder, allow_download=config.allow_download)
    encoder = TransformerEncoder.load(folder, config.remembered_dtype(choose_dtype()))
    encoder.warm_up()
    warm_up(settings)
    return encoder


def _recorder(config: Config, clock: SystemClock) -> Recorder | RecordingOff:
    if not config.recording:
        return RecordingOff()
    target = _history_target(config)
    return Recorder(config.directory / "spool", target, clock, jitter, config.spool_limit_bytes)


def _history_target(config: Config) -> HistoryTarget:
    """Return where history is: with the token over TCP, encrypted where it was asked for and off this machine."""
    address, certificates = config.history_address, config.certificates
    if address.startswith("unix:"):
        return HistoryTarget(dial_target(address))
    is_encrypted = certificates.authority is not None or certificates.encrypts or not is_local(address)
    credentials = certificates.channel_credentials() if is_encrypted else None
    return HistoryTarget(address, credentials, _token(config).bearer)


def _reranker_revision(rerankers: Rerankers, profile: Profile) -> str:
    """Name the default profile's reranker; a cross-encoder is loaded when it is first used, and has no name before."""
    if profile.rerank.method == "late_interaction":
        return rerankers(profile.rerank)[0].revision
    return profile.rerank.method


def _temporary(directory: Path) -> Path:
    """Return an empty directory for corpora that are ranked and forgotten."""
    path = directory / "corpora"
    shutil.rmtree(path, ignore_errors=True)
    make_directory(path)
    return path

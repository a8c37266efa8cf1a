"""Puts a ranker together; alone knows the concrete classes."""

import fcntl
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from ranker_service.activations import Activations
from ranker_service.config import Config
from ranker_service.domain.profile import ProfileInvalid
from ranker_service.index.lexical import warm_up
from ranker_service.memory.chunker import chunker_revision
from ranker_service.memory.durable import make_directory
from ranker_service.memory.parsers import PARSER_REVISION
from ranker_service.models.encoder import TransformerEncoder, choose_dtype
from ranker_service.models.rerankers import Rerankers
from ranker_service.models.source import ModelUnavailable, resolve
from ranker_service.pipeline import Pipeline
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.recorder.sink import Recorder
from ranker_service.rpc.rank_corpus import CorpusRanker
from ranker_service.rpc.runtime import Identity, Runtime
from ranker_service.rpc.server import AddressRefused, Server
from ranker_service.rpc.servicer import RankerParts, RankerServicer
from ranker_service.system import SystemClock, new_instance_id, new_run_id
from ranker_service.workspace.workspace import Workspace
from ranktrail.ranker.v1 import ranker_service_pb2, ranker_service_pb2_grpc

_LOG = logging.getLogger(__name__)
_SERVICE = ranker_service_pb2.DESCRIPTOR.services_by_name["RankerService"].full_name


class StartRefused(Exception):
    """The ranker cannot start; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Ranker:
    """A ranker that serves."""

    server: Server
    workspace: Workspace
    recorder: Recorder
    lock: int

    def stop(self) -> None:
        """End calls, then builds, then delivery; the journal keeps what was not delivered."""
        self.server.stop()
        self.workspace.close()
        self.recorder.close()
        os.close(self.lock)


def start(config: Config) -> Ranker:
    """Build and start a ranker; raise StartRefused."""
    for directory in (config.data_dir, config.directory, config.run_directory):
        make_directory(directory)
    lock = _lock(config.directory)
    try:
        return _start(config, lock)
    except (AddressRefused, ModelUnavailable, ProfileInvalid) as error:
        raise StartRefused(str(error)) from error


def _start(config: Config, lock: int) -> Ranker:
    clock, instance_id = SystemClock(), new_instance_id()
    profiles = ProfileCatalog.load(config.directory / "profiles", config.profile)
    encoder = _encoder(config)
    rerankers = Rerankers(config.cross_encoder, encoder.dtype, allow_download=config.allow_download)
    recorder = _recorder(config, clock)
    default = profiles.default()
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
    parts = RankerParts(
        activations=Activations(workspace, pipeline, recorder, clock, new_run_id, instance_id),
        workspace=workspace,
        profiles=profiles,
        corpus_ranker=CorpusRanker(_temporary(config.directory), encoder, pipeline, profiles),
        runtime=Runtime(identity, config.directory, workspace, recorder.runtime, clock),
        clock=clock,
    )
    servicer = RankerServicer(parts)
    register = {_SERVICE: lambda server: ranker_service_pb2_grpc.add_RankerServiceServicer_to_server(servicer, server)}
    server = Server(config.address, config.run_directory, register)
    server.start()
    _LOG.info("ranker %s serves at %s, model %s", instance_id, config.address, encoder.revision)
    return Ranker(server, workspace, recorder, lock)


def _lock(directory: Path) -> int:
    """Take the data directory for this process; it is let go when the process ends, however it ends."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StartRefused(f"another ranker uses {directory}: stop it, or choose another --data-dir") from error
    return descriptor


def _encoder(config: Config) -> TransformerEncoder:
    folder = resolve(config.encoder, allow_download=config.allow_download)
    encoder = TransformerEncoder.load(folder, config.remembered_dtype(choose_dtype()))
    encoder.warm_up()
    warm_up()
    return encoder

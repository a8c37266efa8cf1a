"""What GetRuntime says."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from google.protobuf.timestamp_pb2 import Timestamp

from ranker_service.domain.errors import StageFailed
from ranker_service.domain.resource import EffectiveMemory
from ranker_service.ports import Clock
from ranker_service.rpc import convert
from ranker_service.wire import convert as wire
from ranker_service.workspace.project import Project
from ranker_service.workspace.workspace import Workspace
from ranktrail.ranker.v1 import ranker_service_pb2 as pb

CONTRACT_VERSION = "v1.0"
MEASURE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Identity:
    """What does not change while the process lives."""

    instance_id: str
    data_dir: Path
    model_revision: str
    model_dtype: str
    reranker_revision: str
    parser_revision: str
    chunker_revision: str


@dataclass(slots=True)
class Runtime:
    """Reads the ranker's present state."""

    identity: Identity
    directory: Path
    workspace: Workspace
    recorder: Callable[[], pb.RecorderRuntime]
    clock: Clock
    start_time_us: int = field(init=False)
    _measured: tuple[int, int] | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.start_time_us = self.clock.now_us()

    def __call__(self) -> pb.GetRuntimeResponse:
        """Return it."""
        start_time = Timestamp()
        start_time.FromMicroseconds(self.start_time_us)
        return pb.GetRuntimeResponse(
            version=version("ranktrail"),
            contract_version=CONTRACT_VERSION,
            instance_id=self.identity.instance_id,
            start_time=start_time,
            data_dir=str(self.identity.data_dir),
            data_bytes=self._data_bytes(),
            model_revision=self.identity.model_revision,
            model_dtype=self.identity.model_dtype,
            reranker_revision=self.identity.reranker_revision,
            parser_revision=self.identity.parser_revision,
            chunker_revision=self.identity.chunker_revision,
            projects=[_project(project) for project in self.workspace.projects()],
            recorder=self.recorder(),
        )

    def _data_bytes(self) -> int:
        """Count the bytes on disk, at most every half minute."""
        with self._lock:
            now = self.clock.monotonic_us()
            if self._measured is None or now - self._measured[0] > MEASURE_SECONDS * convert.MICROSECONDS:
                self._measured = now, _size(self.directory)
            return self._measured[1]


def _project(project: Project) -> pb.ProjectRuntime:
    with project.changed:
        build, failure = project.build, project.build_failure
    memory = _memory(project)
    snapshot = project.loaded_snapshot()
    return pb.ProjectRuntime(
        project_id=project.project_id,
        effective_memory_hash=memory.hash,
        resource_count=len(memory.resources),
        index_revision="" if snapshot is None else snapshot.index_revision,
        unit_count=0 if snapshot is None else snapshot.unit_count,
        build=None if build is None else convert.index_progress(build),
        build_failure=None if failure is None else wire.failure_to_proto(failure),
    )


def _memory(project: Project) -> EffectiveMemory:
    """Return the project's memory; an empty one where it cannot be read, which the build's failure says."""
    try:
        return project.memory
    except StageFailed:
        return EffectiveMemory(project.project_id, (), "")


def _size(directory: Path) -> int:
    """Return the bytes of the files below; one that goes meanwhile counts nothing."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:
            continue
    return total

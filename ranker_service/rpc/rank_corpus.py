"""RankCorpus: a corpus and queries come in, traces go out, and nothing stays."""

import queue
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain import limits
from ranker_service.domain.errors import FieldInvalid, ResourceIdConflict
from ranker_service.domain.profile import Profile
from ranker_service.domain.resource import EffectiveMemory, Resource
from ranker_service.index.snapshot import Snapshot
from ranker_service.memory.drafts import receive
from ranker_service.memory.parsers import inspect
from ranker_service.pipeline import Pipeline
from ranker_service.ports import Encoder
from ranker_service.profiles.catalog import ProfileCatalog
from ranker_service.rpc import convert
from ranker_service.rpc.frames import Frames
from ranker_service.wire import convert as wire
from ranker_service.workspace.indexer import BuildProgress, Indexer
from ranker_service.workspace.project import BuildCancelled
from ranktrail.ranker.v1 import ranker_service_pb2 as pb


@dataclass(frozen=True, slots=True)
class CorpusRanker:
    """Ranks corpora in a temporary directory below `directory`."""

    directory: Path
    encoder: Encoder
    pipeline: Pipeline
    profiles: ProfileCatalog

    def rank(self, requests: Iterator[pb.RankCorpusRequest]) -> Iterator[pb.RankCorpusResponse]:
        """Answer each query of the stream, in order."""
        frames = Frames(requests, lambda frame: frame.WhichOneof("frame"))
        first = frames.take()
        if first is None or first[0] != "header":
            raise FieldInvalid("header", "must be the first frame of a corpus")
        header: pb.RankCorpusHeader = first[1].header
        profile = self.profiles.find(header.profile) if header.profile else self.profiles.default()
        if profile is None:
            raise FieldInvalid(
                "header.profile", f"{header.profile!r} is not known: `ranktrail profiles list` names those that are"
            )
        limits.check_text("header.project_id", header.project_id, limits.PROJECT_ID_BYTES)
        with tempfile.TemporaryDirectory(dir=self.directory, prefix="corpus-") as temporary:
            corpus = _Corpus(Path(temporary))
            corpus.receive(frames)
            memory = EffectiveMemory.of(header.project_id, corpus.resources())
            indexer = Indexer(Path(temporary), self.encoder, profile.index)
            try:
                snapshot = yield from _build(indexer, memory, corpus.read_body)
                yield from self._answers(frames, memory, snapshot, profile)
            finally:
                indexer.close()

    def _answers(
        self, frames: Frames[pb.RankCorpusRequest], memory: EffectiveMemory, snapshot: Snapshot, profile: Profile
    ) -> Iterator[pb.RankCorpusResponse]:
        while (taken := frames.take()) is not None:
            kind, frame = taken
            if kind != "query":
                raise FieldInvalid(kind, "does not belong here: resources come before the first query")
            query = frame.query
            limits.check_query_id(query.query_id)
            trace = self.pipeline.rank(limits.check_query(query.query), profile, memory, snapshot)
            for candidates in wire.candidate_frames(trace.candidates):
                yield pb.RankCorpusResponse(
                    candidates=pb.RankedCandidates(query_id=query.query_id, candidates=candidates)
                )
            yield pb.RankCorpusResponse(result=convert.corpus_result(query.query_id, trace))


class _Corpus:
    """Resources received, their bodies in files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "bodies"
        self._directory.mkdir()
        self._by_id: dict[str, Resource] = {}
        self._ids: dict[str, str] = {}

    def resources(self) -> list[Resource]:
        return list(self._by_id.values())

    def read_body(self, digest: str) -> bytes:
        return (self._directory / digest).read_bytes()

    def receive(self, frames: Frames[pb.RankCorpusRequest]) -> None:
        """Take every resource up to the first query."""
        while (frame := frames.peek()) is not None and frame[0] == "resource":
            frames.take()
            self._add(frame[1].resource, frames.body())

    def _add(self, message: pb.CorpusResource, body: Iterator[bytes]) -> None:
        layer = convert.layer_of(message.layer)
        if layer is None:
            raise FieldInvalid("resource.layer", "is required: organization, project or draft")
        resource = convert.draft_resource(message.resource).checked(layer)
        if resource.resource_id in self._by_id:
            raise ResourceIdConflict(resource.resource_id, resource.path, self._by_id[resource.resource_id].path)
        other = self._ids.setdefault(resource.path, resource.resource_id)
        if other != resource.resource_id:
            raise FieldInvalid("path", f"{resource.path!r} is used by two resources: give each its own")
        content = receive(resource, body)
        (self._directory / resource.digest).write_bytes(content)
        state = inspect(resource.media_type, content)
        self._by_id[resource.resource_id] = resource._replace(parse_state=state)


def _build(
    indexer: Indexer, memory: EffectiveMemory, read_body: Callable[[str], bytes]
) -> Generator[pb.RankCorpusResponse, None, Snapshot]:
    """Yield progress; return the snapshot. The build has ended when this has, also where the caller went away."""
    steps: queue.SimpleQueue[BuildProgress | Snapshot | BaseException] = queue.SimpleQueue()
    abandoned = threading.Event()

    def report(progress: BuildProgress) -> None:
        if abandoned.is_set():
            raise BuildCancelled
        steps.put(progress)

    def work() -> None:
        try:
            steps.put(indexer.build(memory, read_body, None, report))
        except BaseException as error:
            steps.put(error)

    thread = threading.Thread(target=work, name="corpus-build", daemon=True)
    thread.start()
    try:
        while isinstance(step := steps.get(), BuildProgress):
            yield pb.RankCorpusResponse(progress=convert.index_progress(step))
    finally:
        abandoned.set()
        thread.join()
    if isinstance(step, BaseException):
        raise step
    return step

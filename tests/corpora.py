"""Indexes of small memories, made by the real parsers, chunker and index builder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import EffectiveMemory, Layer, Resource
from ranker_service.index.builder import build_snapshot
from ranker_service.index.snapshot import Snapshot
from ranker_service.index.vector_store import VectorStore
from ranker_service.memory.chunker import Chunker
from ranker_service.memory.parsers import guess_media_type, inspect
from ranker_service.ports import Encoder
from tests.builders import a_profile, a_resource

PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Corpus:
    """A memory and its index; a pipeline's view of both."""

    memory: EffectiveMemory
    index: Snapshot

    def effective_memory(self) -> EffectiveMemory:
        """Return the memory."""
        return self.memory

    def snapshot(self) -> tuple[Snapshot, bool]:
        """Return the index, which is loaded."""
        return self.index, False


def a_page(path: str, text: str, layer: Layer = Layer.PROJECT, kind: str = "document") -> Resource:
    """Return the resource of a text."""
    media_type = guess_media_type(path)
    parse_state = inspect(media_type, text.encode())
    return a_resource(path, text, layer=layer, kind=kind, media_type=media_type, parse_state=parse_state)


def indexed(
    directory: Path,
    pages: Mapping[str, str],
    encoder: Encoder,
    settings: IndexSettings | None = None,
    layers: Mapping[str, Layer] | None = None,
) -> Corpus:
    """Index texts by path below a directory, each in its layer, or in the project's."""
    settings = settings or a_profile().index
    resources = [a_page(path, text, (layers or {}).get(path, Layer.PROJECT)) for path, text in pages.items()]
    memory = EffectiveMemory.of(PROJECT, resources)
    bodies = {resource.digest: pages[resource.path].encode() for resource in resources}
    snapshot = build_snapshot(
        memory=memory,
        read_body=bodies.__getitem__,
        chunker=Chunker(settings, encoder),
        encoder=encoder,
        settings=settings,
        directory=directory / memory.hash[:16],
        store=VectorStore(directory / "vectors", encoder.dimension, encoder.revision),
        previous=None,
        progress=lambda *_: None,
    )
    return Corpus(memory, snapshot)

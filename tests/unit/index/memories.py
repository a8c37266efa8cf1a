"""Memories of small texts, and what an index of them is built with."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ranker_service.domain.digest import digest_of
from ranker_service.domain.encoding import UnitEncoding
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import EffectiveMemory, Resource
from ranker_service.domain.unit import Unit
from ranker_service.index.builder import build_snapshot
from ranker_service.index.snapshot import Snapshot
from ranker_service.index.vector_store import VectorStore
from tests.builders import a_profile, a_resource
from tests.fakes.encoder import WordEncoder

PAGES = {
    "deploy.md": "How to deploy\n\nRun the deploy job of the release\n\nWatch the error rate",
    "rollback.md": "How to roll back\n\nRun the job of the last good release\n\nTell the others",
    "notes/lunch.md": "Soup on Monday\n\nBread on Tuesday",
    "notes/tokyo.md": "東京タワーの高さ\n\ncafé naïve",
    "same.md": "Watch the error rate\n\nTell the others",
}


class ParagraphChunker:
    """Makes a unit of each paragraph that is not blank; remembers which resources it was given."""

    parser_revision = "paragraphs.parser.v1"

    def __init__(self, revision: str = "paragraphs.v1") -> None:
        self.revision = revision
        self.chunked: list[str] = []

    def chunk(self, resource: Resource, body: bytes) -> tuple[Unit, ...]:
        """Cut at blank lines."""
        self.chunked.append(resource.resource_id)
        return tuple(self._units(resource, body))

    def _units(self, resource: Resource, body: bytes) -> Iterator[Unit]:
        start = 0
        for n, part in enumerate(body.split(b"\n\n")):
            text, end = part.decode(), start + len(part)
            if text.strip():
                key = f"{resource.resource_id}#p/{n}/0"
                prefix = f"{resource.title}\n" if resource.title else ""
                words = len(text.split())
                yield Unit(key, resource, (f"p{n}",), start, end, digest_of(part), words, prefix, text)
            start = end + 2


class CountingEncoder(WordEncoder):
    """Remembers the texts it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.encoded: list[str] = []

    def encode_units(self, texts: Sequence[str], keep_token_vectors: bool) -> Iterator[tuple[int, UnitEncoding]]:
        """Note each text as it is encoded."""
        for position, encoding in super().encode_units(texts, keep_token_vectors):
            self.encoded.append(texts[position])
            yield position, encoding


class Workbench:
    """A directory with a vector store, in which indexes are built one after another."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.encoder = CountingEncoder()
        self.chunker = ParagraphChunker()
        self.settings = a_profile().index
        self.reports: list[tuple[str, int, int]] = []
        self.store = VectorStore(directory / "vectors", self.encoder.dimension, self.encoder.revision)

    def build(
        self, pages: Mapping[str, str], previous: Snapshot | None = None, name: str = "index", **changed: Any
    ) -> Snapshot:
        """Index pages by path; `changed` holds fields of resources by path, and other arguments of the build."""
        fields: Mapping[str, dict[str, Any]] = changed.pop("fields", {})
        memory = a_memory(pages, fields)
        bodies = {digest_of(text.encode()): text.encode() for text in pages.values()}
        arguments: dict[str, Any] = {
            "memory": memory,
            "read_body": bodies.__getitem__,
            "chunker": self.chunker,
            "encoder": self.encoder,
            "settings": self.settings,
            "directory": self.directory / "indexes" / name,
            "store": self.store,
            "previous": previous,
            "progress": lambda *report: self.reports.append(report),
        }
        self.chunker.chunked, self.encoder.encoded, self.reports = [], [], []
        return build_snapshot(**(arguments | changed))

    def built_names(self) -> list[str]:
        """Return what lies where the indexes are."""
        return sorted(path.name for path in (self.directory / "indexes").iterdir())


def a_memory(pages: Mapping[str, str], fields: Mapping[str, dict[str, Any]] | None = None) -> EffectiveMemory:
    """Return the memory of pages by path."""
    resources = [a_resource(path, text, **(fields or {}).get(path, {})) for path, text in pages.items()]
    return EffectiveMemory.of("project", resources)


def settings_with(**values: Any) -> IndexSettings:
    """Return the default index settings with some values replaced."""
    return a_profile(index=values).index

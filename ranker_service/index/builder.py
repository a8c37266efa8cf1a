"""Builds a snapshot beside the last one, out of what is new and what the last one already knows."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.encoding import UnitEncoding
from ranker_service.domain.profile import IndexSettings
from ranker_service.domain.resource import EffectiveMemory, ParseState, Resource
from ranker_service.domain.unit import Unit
from ranker_service.index.files import IndexDamaged, sync_directory
from ranker_service.index.identity import IDENTITY_REVISION, IdentityIndex
from ranker_service.index.lexical import LexicalIndex, lexical_revision
from ranker_service.index.resource_table import ResourceTable
from ranker_service.index.reuse import Draft, Reuse, SourceRevisions, draft_of
from ranker_service.index.snapshot import (
    FORMAT,
    TOKEN_VECTOR_LIMIT,
    Snapshot,
    SnapshotParts,
    meta_of,
    open_snapshot,
    save_parts,
)
from ranker_service.index.unit_table import UnitTable
from ranker_service.index.vector import VectorIndex, vector_settings_revision
from ranker_service.index.vector_store import VectorStore
from ranker_service.ports import Encoder

PARSE, ENCODE, INDEX = "parse", "encode", "index"
ENCODE_BATCH = 128
"""Encodings that are made durable together; a build that is interrupted has to repeat fewer than these."""

_REPORTS = 200
_INDEX_STEPS = 5
_CHARACTERS_PER_TOKEN = 4

Progress = Callable[[str, int, int], None]
"""Takes (phase, steps done, steps in all); what it raises ends the build."""


class Chunker(Protocol):
    """Turns resources into units."""

    parser_revision: str
    revision: str

    def chunk(self, resource: Resource, body: bytes) -> tuple[Unit, ...]:
        """Return the resource's units, none of them blank."""


def index_revision_of(memory_hash: str, chunker: Chunker, encoder: Encoder, settings: IndexSettings) -> str:
    """Return the digest of everything that an index depends on: the memory, and every revision and setting."""
    revisions = [
        f"format {FORMAT}",
        chunker.parser_revision,
        chunker.revision,
        lexical_revision(settings),
        IDENTITY_REVISION,
        encoder.revision,
        vector_settings_revision(settings),
        f"token vectors<={settings.token_vector_limit}",
    ]
    return digest_of(canonical_json([memory_hash, revisions]))


def build_snapshot(
    *,
    memory: EffectiveMemory,
    read_body: Callable[[str], bytes],
    chunker: Chunker,
    encoder: Encoder,
    settings: IndexSettings,
    directory: Path,
    store: VectorStore,
    previous: Snapshot | None,
    progress: Progress,
    on_size: Callable[[int], None] = lambda _: None,
) -> Snapshot:
    """Build the memory's index at `directory`, wholly or not at all, and open it; a whole one that is there is opened.

    Units and tokens of unchanged resources come from `previous`; only encoder inputs that `store` lacks are encoded,
    and those stay in the store when the build is interrupted. Raises VectorRefused where the encoder makes a vector
    without a direction, and whatever `read_body`, `chunker`, `encoder` and `progress` raise.

    `on_size` is told, before anything is encoded, about how many bytes the token vectors will take.
    """
    revision = index_revision_of(memory.hash, chunker, encoder, settings)
    build = _Build(chunker, encoder, settings, store, _sparsely(progress))
    existing = _existing(directory, store, revision)
    if existing is not None:
        return existing
    drafts = sorted(build.drafts(memory, read_body, previous), key=lambda draft: draft.unit.unit_key)
    _require_distinct(drafts)
    inputs = [digest_of(draft.unit.encoder_input.encode()) for draft in drafts]
    keep_tokens = len(set(inputs)) <= settings.token_vector_limit
    on_size(_estimated_token_vector_bytes(drafts, inputs, encoder.dimension) if keep_tokens else 0)
    build.encode(drafts, inputs, keep_tokens=keep_tokens)
    parts = build.parts(memory, drafts, inputs)
    meta = meta_of(
        parts,
        index_revision=revision,
        effective_memory_hash=memory.hash,
        parser_revision=chunker.parser_revision,
        chunker_revision=chunker.revision,
        lexical_revision=lexical_revision(settings),
        model_revision=encoder.revision,
        token_vector_bytes=store.token_vector_bytes(inputs) if keep_tokens else 0,
        reranker_note="" if keep_tokens else TOKEN_VECTOR_LIMIT,
    )
    with _Beside(directory) as temporary:
        meta.write(temporary, save_parts(parts, temporary, encoder.revision, settings))
    build.report_index(_INDEX_STEPS)
    return open_snapshot(directory, store, [draft.unit for draft in drafts])


class _Build:
    """The phases of one build."""

    def __init__(
        self, chunker: Chunker, encoder: Encoder, settings: IndexSettings, store: VectorStore, progress: Progress
    ) -> None:
        self._chunker = chunker
        self._encoder = encoder
        self._settings = settings
        self._store = store
        self._progress = progress

    def drafts(
        self, memory: EffectiveMemory, read_body: Callable[[str], bytes], previous: Snapshot | None
    ) -> Iterator[Draft]:
        """Yield every unit of the memory, resource by resource."""
        reuse = Reuse(previous, self._source_revisions())
        for done, resource in enumerate(memory.resources):
            self._progress(PARSE, done, len(memory.resources))
            if resource.parse_state is ParseState.PARSED:
                known = reuse.drafts(resource)
                yield from self._parsed(resource, read_body) if known is None else known
        self._progress(PARSE, len(memory.resources), len(memory.resources))

    def encode(self, drafts: Sequence[Draft], inputs: Sequence[str], *, keep_tokens: bool) -> None:
        """Encode what the store lacks, and what it turns out to have lost."""
        texts = {key: draft.unit.encoder_input for key, draft in zip(inputs, drafts, strict=True)}
        self._encode_missing(texts, keep_tokens=keep_tokens)
        try:
            self._store.vectors(list(texts))
        except IndexDamaged:
            self._encode_missing(texts, keep_tokens=keep_tokens)

    def parts(self, memory: EffectiveMemory, drafts: Sequence[Draft], inputs: Sequence[str]) -> SnapshotParts:
        """Make every searchable part."""
        units = [draft.unit for draft in drafts]
        positions = {resource.resource_id: i for i, resource in enumerate(memory.resources)}
        self.report_index(0)
        lexical = LexicalIndex.build([draft.tokens for draft in drafts], self._settings)
        self.report_index(1)
        identity = IdentityIndex.build(units)
        self.report_index(2)
        resources, table = ResourceTable.of(memory.resources), UnitTable.of(units, inputs, positions)
        self.report_index(3)
        vectors = VectorIndex.build(inputs, self._store.vectors, self._settings)
        self.report_index(4)
        return SnapshotParts(resources, table, lexical, identity, vectors)

    def report_index(self, done: int) -> None:
        """Report a step of the last phase."""
        self._progress(INDEX, done, _INDEX_STEPS)

    def _parsed(self, resource: Resource, read_body: Callable[[str], bytes]) -> Iterator[Draft]:
        for unit in self._chunker.chunk(resource, read_body(resource.digest)):
            yield draft_of(unit)

    def _source_revisions(self) -> SourceRevisions:
        return SourceRevisions(
            parser=self._chunker.parser_revision,
            chunker=self._chunker.revision,
            model=self._encoder.revision,
            lexical=lexical_revision(self._settings),
        )

    def _encode_missing(self, texts: dict[str, str], *, keep_tokens: bool) -> None:
        missing = self._store.missing(texts, with_token_vectors=keep_tokens)
        self._progress(ENCODE, 0, len(missing))
        batch: list[tuple[str, UnitEncoding]] = []
        encodings = self._encoder.encode_units([texts[key] for key in missing], keep_tokens)
        for done, (position, encoding) in enumerate(encodings, start=1):
            batch.append((missing[position], encoding))
            if len(batch) == ENCODE_BATCH or done == len(missing):
                self._store.append(batch)
                batch.clear()
            self._progress(ENCODE, done, len(missing))


class _Beside:
    """A temporary directory beside the one that it becomes, once everything in it is on disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._temporary = directory.with_name(f".{directory.name}.building")

    def __enter__(self) -> Path:
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary.mkdir(mode=0o700, parents=True)
        return self._temporary

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            sync_directory(self._temporary)
            shutil.rmtree(self._directory, ignore_errors=True)
            self._temporary.rename(self._directory)
            sync_directory(self._directory.parent)
        else:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _existing(directory: Path, store: VectorStore, revision: str) -> Snapshot | None:
    """Return the whole index that is there already, if it is this one."""
    if not directory.exists():
        return None
    try:
        snapshot = open_snapshot(directory, store)
    except IndexDamaged:
        return None
    return snapshot if snapshot.index_revision == revision else None


def _estimated_token_vector_bytes(drafts: Sequence[Draft], inputs: Sequence[str], dimension: int) -> int:
    """Estimate the token vectors of the distinct inputs: int8 rows and a float16 a token; prefixes by their length."""
    units = dict(zip(inputs, (draft.unit for draft in drafts), strict=True)).values()
    tokens = sum(unit.token_count + len(unit.prefix) // _CHARACTERS_PER_TOKEN for unit in units)
    return tokens * (dimension + 2)


def _require_distinct(drafts: Sequence[Draft]) -> None:
    """Raise ValueError where two units, which stand in unit_key order, have one key."""
    for before, after in pairwise(drafts):
        if before.unit.unit_key == after.unit.unit_key:
            raise ValueError(f"two units have the key {after.unit.unit_key!r}")


def _sparsely(progress: Progress) -> Progress:
    """Return a progress that passes on about one report in a percent, and the first and last of each phase."""

    def report(phase: str, done: int, total: int) -> None:
        if done in (0, total) or done % max(1, total // _REPORTS) == 0:
            progress(phase, done, total)

    return report

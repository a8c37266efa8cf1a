"""Building: wholly or not at all, and only what is new."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranker_service.domain.resource import Layer, ParseState
from ranker_service.index.builder import ENCODE_BATCH, index_revision_of
from ranker_service.index.directions import VectorRefused
from ranker_service.index.snapshot import Snapshot
from tests.unit.index.memories import PAGES, CountingEncoder, ParagraphChunker, Workbench, settings_with


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    opened = Workbench(tmp_path)
    yield opened
    opened.store.close()


def answers(snapshot: Snapshot) -> list[Any]:
    """Return what an index says of itself and to a few queries."""
    queries = ["release", "error", "東京", "café"]
    vectors = [CountingEncoder().encode_query(query).vector for query in queries]
    return [
        [snapshot.unit(row) for row in range(snapshot.unit_count)],
        [snapshot.lexical.search([query], 60) for query in queries],
        [snapshot.vectors.search(vector, 60) for vector in vectors],
        [snapshot.identity.search(query, None, 20, 3) for query in ("notes", "deploy.md", "p1")],
    ]


def test_rows_are_in_unit_key_order_and_units_are_as_they_were_cut(bench: Workbench) -> None:
    snapshot = bench.build({"b.md": "two\n\nthree", "a!.md": "x", "a.md": "one", "é.md": "four", "Z.md": "\n\n \n\n"})
    keys = [snapshot.unit(row).unit_key for row in range(snapshot.unit_count)]
    assert keys == ["a!.md#p/0/0", "a.md#p/0/0", "b.md#p/0/0", "b.md#p/1/0", "é.md#p/0/0"]
    unit = snapshot.unit(3)
    assert (unit.text, unit.start_byte, unit.end_byte, unit.heading_path) == ("three", 5, 10, ("p1",))
    assert unit.resource.path == "b.md"


def test_units_that_share_an_encoder_input_are_encoded_once(bench: Workbench) -> None:
    snapshot = bench.build(PAGES)
    assert sorted(bench.encoder.encoded) == sorted({unit.encoder_input for unit in answers(snapshot)[0]})
    assert snapshot.vectors.distinct_count == snapshot.unit_count - 2


def test_a_changed_resource_is_the_only_one_that_is_read_and_encoded(bench: Workbench) -> None:
    first = bench.build(PAGES)
    pages = PAGES | {"deploy.md": PAGES["deploy.md"] + "\n\nCelebrate"}
    second = bench.build(pages, first, "second")
    assert bench.chunker.chunked == ["deploy.md"]
    assert bench.encoder.encoded == ["Celebrate"]
    assert answers(second) == answers(Workbench(bench.directory / "other").build(pages))


def test_a_removed_resource_needs_nothing_read_or_encoded(bench: Workbench) -> None:
    first = bench.build(PAGES)
    pages = {path: text for path, text in PAGES.items() if path != "deploy.md"}
    second = bench.build(pages, first, "second")
    assert (bench.chunker.chunked, bench.encoder.encoded) == ([], [])
    assert answers(second) == answers(Workbench(bench.directory / "other").build(pages))


def test_a_resource_that_moved_to_another_layer_or_kind_keeps_its_units(bench: Workbench) -> None:
    first = bench.build(PAGES)
    second = bench.build(PAGES, first, "second", fields={"deploy.md": {"layer": Layer.DRAFT, "kind": "note"}})
    assert bench.chunker.chunked == []
    resource = second.unit(0).resource
    assert (resource.path, resource.layer, resource.kind) == ("deploy.md", Layer.DRAFT, "note")


@pytest.mark.parametrize("fields", [{"title": "Deploying"}, {"path": "elsewhere.md"}, {"media_type": "text/plain"}])
def test_a_resource_with_another_title_path_or_type_is_read_again(bench: Workbench, fields: dict[str, Any]) -> None:
    first = bench.build(PAGES)
    bench.build(PAGES, first, "second", fields={"deploy.md": fields})
    assert bench.chunker.chunked == ["deploy.md"]


def test_another_chunker_reads_everything_again_and_other_constants_nothing(bench: Workbench) -> None:
    first = bench.build(PAGES)
    bench.build(PAGES, first, "chunker", chunker=(other := ParagraphChunker("paragraphs.v2")))
    assert sorted(other.chunked) == sorted(PAGES)
    second = bench.build(PAGES, first, "constants", settings=settings_with(k1=1.2))
    assert bench.chunker.chunked == []
    other_bench = Workbench(bench.directory / "other")
    assert answers(second) == answers(other_bench.build(PAGES, settings=settings_with(k1=1.2)))


@pytest.mark.parametrize("state", [ParseState.NOT_UTF8, ParseState.NO_PARSER, ParseState.BLANK])
def test_resources_that_are_not_parsed_are_kept_and_not_read(bench: Workbench, state: ParseState) -> None:
    snapshot = bench.build(PAGES, fields={"deploy.md": {"parse_state": state}})
    assert "deploy.md" not in bench.chunker.chunked
    assert snapshot.resource_count == len(PAGES)
    assert not snapshot.holds("deploy.md#p/0/0")


@pytest.mark.parametrize("pages", [{}, {"a.md": " ", "b.md": "\n", "c.md": "\n\n"}], ids=["none", "blank"])
@pytest.mark.parametrize("limit", [0, 20_000])
def test_a_memory_without_units_makes_an_index_that_finds_nothing(
    bench: Workbench, pages: dict[str, str], limit: int
) -> None:
    snapshot = bench.build(pages, settings=settings_with(exact_vector_limit=limit))
    assert (snapshot.unit_count, snapshot.resource_count) == (0, len(pages))
    assert answers(snapshot) == [[], [[]] * 4, [[]] * 4, [[]] * 3]
    assert snapshot.token_vectors([]) == []


def test_token_vectors_are_not_kept_above_their_limit_and_the_index_says_why(bench: Workbench) -> None:
    distinct = bench.build(PAGES).vectors.distinct_count
    fewer = bench.build(PAGES, name="fewer", settings=settings_with(token_vector_limit=distinct - 1))
    assert (fewer.reranker_note, fewer.token_vector_bytes) == ("token_vector_limit", 0)
    kept = bench.build(PAGES, name="kept", settings=settings_with(token_vector_limit=distinct))
    assert kept.reranker_note == ""
    assert kept.token_vector_bytes == bench.store.token_vector_bytes(kept._inputs) > 0
    assert len(kept.token_vectors([0, 3, 0])) == 3


def test_token_vectors_are_added_when_a_memory_shrinks_below_their_limit(bench: Workbench) -> None:
    many = bench.build(PAGES, settings=settings_with(token_vector_limit=3))
    few = {"deploy.md": PAGES["deploy.md"]}
    snapshot = bench.build(few, many, "few", settings=settings_with(token_vector_limit=3))
    assert len(bench.encoder.encoded) == 3
    assert len(snapshot.token_vectors(range(3))) == 3


class Stopped(Exception):
    """Ends a build."""


def test_an_interrupted_build_leaves_no_index_and_keeps_what_it_had_encoded(bench: Workbench) -> None:
    pages = {"long.md": "\n\n".join(f"paragraph {n}" for n in range(3 * ENCODE_BATCH))}

    def stop(phase: str, done: int, _: int) -> None:
        if phase == "encode" and done > 2 * ENCODE_BATCH:
            raise Stopped

    with pytest.raises(Stopped):
        bench.build(pages, progress=stop)
    assert not (bench.directory / "indexes").exists()
    snapshot = bench.build(pages)
    assert 0 < len(bench.encoder.encoded) <= ENCODE_BATCH
    assert snapshot.unit_count == 3 * ENCODE_BATCH


def test_a_build_that_fails_while_writing_leaves_the_last_index_and_nothing_beside_it(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bench.build(PAGES)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        bench.build({"deploy.md": PAGES["deploy.md"]}, first, "second")
    assert bench.built_names() == ["index"]


def test_a_whole_index_that_is_there_is_opened_and_a_damaged_one_replaced(bench: Workbench) -> None:
    first = bench.build(PAGES)
    assert bench.build(PAGES).index_revision == first.index_revision
    assert bench.reports == []
    (bench.directory / "indexes" / "index" / "unit_texts.bin").write_bytes(b"damaged")
    again = bench.build(PAGES, first)
    assert bench.reports != []
    assert answers(again) == answers(Workbench(bench.directory / "other").build(PAGES))
    assert bench.built_names() == ["index"]


def test_vectors_that_were_damaged_in_the_store_are_encoded_again(bench: Workbench) -> None:
    bench.build(PAGES)
    path = bench.directory / "vectors" / "vectors.bin"
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    again = bench.build(PAGES, name="again")
    assert len(bench.encoder.encoded) == 1
    assert answers(again) == answers(Workbench(bench.directory / "other").build(PAGES))


class BrokenEncoder(CountingEncoder):
    """Encodes everything as not a number."""

    def _directions(self, text: str) -> Any:
        return super()._directions(text) * np.float32(np.nan)


def test_an_encoder_that_makes_no_directions_fails_the_build(bench: Workbench) -> None:
    with pytest.raises(VectorRefused), np.errstate(invalid="ignore"):
        bench.build(PAGES, encoder=BrokenEncoder(), settings=settings_with(token_vector_limit=0))


def test_two_units_of_one_key_fail_the_build(bench: Workbench) -> None:
    class Twice(ParagraphChunker):
        def chunk(self, *arguments: Any) -> Any:
            return super().chunk(*arguments) * 2

    with pytest.raises(ValueError, match="two units have the key"):
        bench.build(PAGES, chunker=Twice())


def test_progress_tells_the_phases_in_order_and_ends_each(bench: Workbench) -> None:
    bench.build(PAGES)
    assert list(dict.fromkeys(phase for phase, _, _ in bench.reports)) == ["parse", "encode", "index"]
    for phase in ("parse", "encode", "index"):
        steps = [(done, total) for name, done, total in bench.reports if name == phase]
        assert steps == sorted(steps)
        assert steps[0][0] == 0
        assert steps[-1][0] == steps[-1][1] > 0


def test_a_large_memory_is_reported_on_in_at_most_a_few_hundred_steps(bench: Workbench) -> None:
    bench.build({f"{n}.md": "" for n in range(5_000)})
    assert 100 < len(bench.reports) < 500


def test_the_revision_names_the_memory_and_everything_that_the_index_depends_on(bench: Workbench) -> None:
    def revision(
        memory_hash: str = "m", chunker: ParagraphChunker | None = None, model: str = "", **values: Any
    ) -> str:
        encoder = CountingEncoder()
        encoder.revision = model or encoder.revision
        return index_revision_of(memory_hash, chunker or bench.chunker, encoder, settings_with(**values))

    other_parser = ParagraphChunker()
    other_parser.parser_revision = "paragraphs.parser.v2"
    revisions = [
        revision(),
        revision("another memory"),
        revision(chunker=ParagraphChunker("paragraphs.v2")),
        revision(chunker=other_parser),
        revision(model="another model"),
        revision(k1=1.2),
        revision(b=0.5),
        revision(epsilon=0.0),
        revision(exact_vector_limit=5),
        revision(hnsw_m=8),
        revision(hnsw_ef_construction=100),
        revision(hnsw_ef_max=400),
        revision(hnsw_recall=0.95),
        revision(token_vector_limit=5),
    ]
    assert len(set(revisions)) == len(revisions)
    assert revision() == revisions[0]
    assert bench.build(PAGES).index_revision != revisions[0]

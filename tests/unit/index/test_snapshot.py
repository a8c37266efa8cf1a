"""A snapshot: what it was built from is what it gives, or it is not opened."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ranker_service.domain.resource import Layer
from ranker_service.index import snapshot as snapshots
from ranker_service.index.files import IndexDamaged
from ranker_service.index.snapshot import Snapshot, open_snapshot
from ranker_service.index.vector_store import VectorStore
from tests.unit.index.memories import PAGES, Workbench, a_memory, settings_with

FIELDS = {
    "deploy.md": {"kind": "runbook", "layer": Layer.ORGANIZATION},
    "rollback.md": {"kind": "runbook", "layer": Layer.PROJECT},
    "notes/lunch.md": {"kind": "note", "layer": Layer.DRAFT},
}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    opened = Workbench(tmp_path)
    yield opened
    opened.store.close()


@pytest.fixture
def snapshot(bench: Workbench) -> Snapshot:
    return bench.build(PAGES, fields=FIELDS, settings=settings_with(exact_vector_limit=0))


def paths(snapshot: Snapshot, mask: np.ndarray) -> set[str]:
    return {snapshot.unit(row).resource.path for row in np.flatnonzero(mask)}


def test_it_says_what_it_was_built_with(snapshot: Snapshot, bench: Workbench) -> None:
    assert snapshot.effective_memory_hash == a_memory(PAGES, FIELDS).hash
    assert snapshot.resources() == list(a_memory(PAGES, FIELDS).resources)
    assert snapshot.parser_revision == bench.chunker.parser_revision
    assert snapshot.chunker_revision == bench.chunker.revision
    assert snapshot.model_revision == bench.encoder.revision
    assert snapshot.lexical_revision.startswith("bm25okapi.v1 k1=1.5 b=0.75 epsilon=0.25 words.v1")
    assert snapshot.vector_index_revision == snapshot.vectors.revision
    assert snapshot.vector_index_revision.startswith("hnswlib.v1")


def test_a_row_is_found_by_its_unit_key(snapshot: Snapshot) -> None:
    for row in range(snapshot.unit_count):
        assert snapshot.row_of(snapshot.unit(row).unit_key) == row
    for absent in ("", "deploy.md#p/0", "deploy.md#p/0/00", "zzz", "\U0010ffff"):
        assert snapshot.row_of(absent) is None
        assert not snapshot.holds(absent)


@pytest.mark.parametrize("row", [-1, 12, 1_000_000])
def test_a_row_that_there_is_not_is_an_error(snapshot: Snapshot, row: int) -> None:
    assert snapshot.unit_count == 12
    with pytest.raises(IndexError):
        snapshot.unit(row)


@pytest.mark.parametrize(
    ("kinds", "layers", "prefix", "expected"),
    [
        (("runbook",), (), "", {"deploy.md", "rollback.md"}),
        (("runbook", "note"), (), "", {"deploy.md", "rollback.md", "notes/lunch.md"}),
        (("no such kind",), (), "", set()),
        ((), (Layer.DRAFT, Layer.ORGANIZATION), "", {"deploy.md", "notes/lunch.md"}),
        ((), (), "notes/", {"notes/lunch.md", "notes/tokyo.md"}),
        ((), (), "notes/l", {"notes/lunch.md"}),
        ((), (), "Notes/", set()),
        ((), (), "~", set()),
        (("runbook",), (Layer.PROJECT,), "r", {"rollback.md"}),
        (("runbook",), (Layer.DRAFT,), "", set()),
    ],
)
def test_filters_allow_the_units_whose_resource_passes_all_of_them(
    snapshot: Snapshot, kinds: tuple[str, ...], layers: tuple[Layer, ...], prefix: str, expected: set[str]
) -> None:
    mask = snapshot.allowed(kinds, layers, prefix)
    assert mask is not None
    assert (mask.shape, mask.dtype) == ((snapshot.unit_count,), np.bool_)
    assert paths(snapshot, mask) == expected


def test_no_filter_is_none(snapshot: Snapshot) -> None:
    assert snapshot.allowed((), (), "") is None


def test_token_vectors_come_in_the_order_of_the_rows(snapshot: Snapshot, bench: Workbench) -> None:
    rows = [3, 0, 3]
    inputs = [snapshot.unit(row).encoder_input for row in rows]
    expected = {text: found for text, (_, found) in zip(inputs, _encoded(bench, inputs), strict=True)}
    for text, vectors in zip(inputs, snapshot.token_vectors(rows), strict=True):
        assert np.array_equal(vectors.values, expected[text].token_vectors.values)


def _encoded(bench: Workbench, texts: list[str]) -> list:
    return sorted(bench.encoder.encode_units(texts, keep_token_vectors=True), key=lambda pair: pair[0])


def test_it_stays_readable_when_its_directory_is_removed(snapshot: Snapshot, bench: Workbench) -> None:
    shutil.rmtree(bench.directory / "indexes")
    assert snapshot.unit(snapshot.unit_count - 1).text
    assert snapshot.lexical.search(["releas"], 5)
    assert snapshot.vectors.search(bench.encoder.encode_query("release").vector, 5)


def test_a_text_that_is_changed_or_cut_while_a_large_index_is_open_is_an_error_and_not_a_crash(
    snapshot: Snapshot, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "HELD_UNITS", snapshot.unit_count - 1)
    held, snapshot = snapshot, open_snapshot(bench.directory / "indexes" / "index", bench.store)
    path = bench.directory / "indexes" / "index" / "unit_texts.bin"
    content = path.read_bytes()
    path.write_bytes(b"?" + content[1:])
    with pytest.raises(IndexDamaged):
        snapshot.unit(0)
    path.write_bytes(content[:1])
    with pytest.raises(IndexDamaged):
        snapshot.unit(0)
    assert snapshot.lexical.search(["releas"], 5)
    assert held.unit(0).text.encode() in content, "a small one holds its units in memory"


def test_threads_read_the_same_units(snapshot: Snapshot) -> None:
    expected = [snapshot.unit(row) for row in range(snapshot.unit_count)]
    wrong: list[int] = []

    def work() -> None:
        for _ in range(50):
            snapshot.close()
            wrong.extend(row for row, unit in enumerate(expected) if snapshot.unit(row) != unit)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "flipped": _flip,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_snapshot_with_any_one_file_damaged_is_not_opened(snapshot: Snapshot, bench: Workbench, damage: str) -> None:
    whole, copy = bench.directory / "indexes" / "index", bench.directory / "copy"
    names = sorted(path.name for path in whole.iterdir() if path.stat().st_size)
    assert {"meta.json", "vectors.hnsw", "vectors.json", "lexical_rows.npy", "unit_texts.bin"} <= set(names)
    for name in names:
        shutil.copytree(whole, copy)
        DAMAGES[damage](copy / name)
        with pytest.raises(IndexDamaged):
            open_snapshot(copy, bench.store)
        shutil.rmtree(copy)
    assert open_snapshot(whole, bench.store).index_revision == snapshot.index_revision


def test_a_sidecar_without_a_field_is_damage(snapshot: Snapshot, bench: Workbench) -> None:
    path = bench.directory / "indexes" / "index" / "meta.json"
    document = json.loads(path.read_bytes())
    del document["fields"]["reranker_note"]
    path.write_text(json.dumps(document))
    with pytest.raises(IndexDamaged):
        open_snapshot(path.parent, bench.store)


def test_an_index_is_not_opened_with_the_vectors_of_another_model(snapshot: Snapshot, bench: Workbench) -> None:
    other = VectorStore(bench.directory / "others", bench.encoder.dimension, "another model")
    with pytest.raises(IndexDamaged, match="model revision"):
        open_snapshot(bench.directory / "indexes" / "index", other)
    other.close()


def test_an_index_is_not_opened_where_the_store_lacks_its_vectors(snapshot: Snapshot, bench: Workbench) -> None:
    empty = VectorStore(bench.directory / "others", bench.encoder.dimension, bench.encoder.revision)
    with pytest.raises(IndexDamaged):
        open_snapshot(bench.directory / "indexes" / "index", empty)
    empty.close()


def test_token_vectors_that_turn_out_damaged_end_the_trust_in_the_index(snapshot: Snapshot, bench: Workbench) -> None:
    _flip(bench.directory / "vectors" / "tokens.bin")
    with pytest.raises(IndexDamaged):
        snapshot.token_vectors(range(snapshot.unit_count))
    with pytest.raises(IndexDamaged):
        open_snapshot(bench.directory / "indexes" / "index", bench.store)
    again = bench.build(PAGES, snapshot, fields=FIELDS, settings=settings_with(exact_vector_limit=0))
    assert len(bench.encoder.encoded) == 1
    assert len(again.token_vectors(range(again.unit_count))) == again.unit_count

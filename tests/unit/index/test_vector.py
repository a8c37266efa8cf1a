"""Dense search: complete, in the right order, and never out of a file that belongs to something else."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.index.directions import VectorRefused
from ranker_service.index.files import IndexDamaged
from ranker_service.index.graph import Graph
from ranker_service.index.vector import VectorIndex
from tests.builders import a_profile

EXACT = a_profile().index
GRAPH = a_profile(index={"exact_vector_limit": 0}).index
BOTH = pytest.mark.parametrize("settings", [EXACT, GRAPH], ids=["exact", "graph"])
MODEL = "a model"


class Vectors:
    """Vectors by key, as a store keeps them."""

    def __init__(self, by_key: dict[str, Sequence[float]]) -> None:
        self.by_key = {key: np.array(vector, np.float32) for key, vector in by_key.items()}

    def __call__(self, keys: Sequence[str]) -> NDArray[np.float32]:
        if not keys:
            return np.empty((0, 4), np.float32)
        return np.array([self.by_key[key] for key in keys])


def random_vectors(count: int, dimension: int, seed: int = 0) -> NDArray[np.float32]:
    matrix = np.random.default_rng(seed).standard_normal((count, dimension))
    return np.asarray(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.float32)


def of_matrix(matrix: NDArray[np.float32], settings: Any) -> VectorIndex:
    keys = [f"k{n}" for n in range(len(matrix))]
    return VectorIndex.build(keys, Vectors(dict(zip(keys, matrix, strict=True))), settings)


@BOTH
def test_three_hundred_copies_of_one_text_do_not_hide_the_others(settings: Any) -> None:
    matrix = random_vectors(31, 384, seed=100)
    keys = ["boilerplate"] * 300 + [f"distinct{n}" for n in range(30)]
    vectors = Vectors({key: matrix[max(0, row - 299)] for row, key in enumerate(keys)})
    index = VectorIndex.build(keys, vectors, settings)
    assert index.distinct_count == 31
    for n in range(30):
        best = index.search(matrix[n + 1], 20)[0]
        assert (best.row, round(best.score, 12)) == (300 + n, 1.0)


@BOTH
def test_a_hit_on_a_shared_input_fans_out_to_every_unit_that_has_it_in_row_order(settings: Any) -> None:
    vectors = Vectors({"a": [1, 0, 0, 0], "b": [0.6, 0.8, 0, 0], "c": [0, 0, 1, 0]})
    index = VectorIndex.build(["b", "a", "c", "a", "b", "a"], vectors, settings)
    found = index.search(np.array([1, 0, 0, 0], np.float32), 5)
    assert [unit.row for unit in found] == [1, 3, 5, 0, 4]
    assert [unit.row for unit in index.search(np.array([1, 0, 0, 0], np.float32), 2)] == [1, 3]


@BOTH
@pytest.mark.parametrize("count", [0, 1, 5, 20])
def test_asking_for_more_than_there_is_gives_what_there_is(settings: Any, count: int) -> None:
    index = of_matrix(random_vectors(count, 4) if count else np.empty((0, 4), np.float32), settings)
    query = np.array([1, 2, 3, 4], np.float32)
    assert sorted(unit.row for unit in index.search(query, 20)) == list(range(count))
    assert index.search(query, 0) == []


def test_different_texts_of_one_vector_tie_and_go_by_row_wherever_they_stand() -> None:
    matrix = random_vectors(501, 384)
    same = [5, 77, 300, 499, 500]
    matrix[same] = matrix[5]
    found = of_matrix(matrix, EXACT).search(random_vectors(1, 384, seed=9)[0], 501)
    places = [place for place, unit in enumerate(found) if unit.row in same]
    assert [found[place].row for place in places] == same
    assert len({found[place].score for place in places}) == 1


@BOTH
def test_long_vectors_get_no_advantage_and_scores_stay_within_one(settings: Any) -> None:
    index = of_matrix(np.array([[1, 0, 0, 0], [10, 10, 0, 0]], np.float32), settings)
    found = index.search(np.array([1, 0, 0, 0], np.float32), 2)
    assert [unit.row for unit in found] == [0, 1]
    assert found[0].score == 1.0
    matrix = random_vectors(200, 384)
    index = of_matrix(matrix, settings)
    assert all(-1.0 <= index.search(query, 1)[0].score <= 1.0 for query in matrix)


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_a_vector_without_a_direction_is_refused_at_build(settings: Any, bad: float) -> None:
    matrix = random_vectors(5, 4)
    matrix[3] = 0.0
    matrix[3, 1] = bad
    with pytest.raises(VectorRefused):
        of_matrix(matrix, settings)


@BOTH
@pytest.mark.parametrize("query", [[np.nan, 1, 0, 0], [np.inf, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0], [[1, 0, 0, 0]]])
def test_a_query_without_a_direction_or_of_another_shape_is_an_error(settings: Any, query: list[float]) -> None:
    index = of_matrix(random_vectors(5, 4), settings)
    with pytest.raises(ValueError, match="vector"):
        index.search(np.array(query, np.float32), 3)


@BOTH
@pytest.mark.parametrize("allowed_count", [0, 1, 3, 100, 299])
def test_a_filter_searches_every_allowed_unit_however_few(settings: Any, allowed_count: int) -> None:
    matrix, generator = random_vectors(300, 16), np.random.default_rng(allowed_count)
    allowed = np.zeros(300, np.bool_)
    allowed[generator.permutation(300)[:allowed_count]] = True
    query = random_vectors(1, 16, seed=5)[0]
    expected = sorted(np.flatnonzero(allowed).tolist(), key=lambda row: -float(matrix[row] @ query))[:20]
    assert [unit.row for unit in of_matrix(matrix, settings).search(query, 20, allowed)] == expected


def test_a_filter_picks_among_units_that_share_an_input() -> None:
    vectors = Vectors({"a": [1, 0, 0, 0], "b": [0, 1, 0, 0]})
    index = VectorIndex.build(["a", "a", "b", "a"], vectors, EXACT)
    allowed = np.array([False, True, False, True])
    assert [unit.row for unit in index.search(np.array([1, 1, 0, 0], np.float32), 5, allowed)] == [1, 3]


def test_the_revision_says_how_nearest_vectors_are_found() -> None:
    matrix = random_vectors(300, 16)
    assert of_matrix(matrix, EXACT).revision == "exact.v1"
    assert of_matrix(matrix, GRAPH).revision.startswith("hnswlib.v1 m=16 efc=200 ef=")


def test_a_graph_that_cannot_reach_the_recall_gives_way_to_exact_search_and_the_revision_says_so() -> None:
    poor = a_profile(index={"exact_vector_limit": 0, "hnsw_m": 2, "hnsw_ef_construction": 16, "hnsw_ef_max": 60}).index
    matrix = random_vectors(1_500, 64)
    index = of_matrix(matrix, poor)
    assert index.revision == "exact.v1 (hnsw recall below 0.99 at ef 60)"
    assert index.search(matrix[7], 60) == of_matrix(matrix, EXACT).search(matrix[7], 60)


def test_a_graph_that_leads_to_too_few_gives_way_to_exact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = random_vectors(50, 16)
    index = of_matrix(matrix, GRAPH)
    monkeypatch.setattr(Graph, "nearest", lambda *_: None)
    assert index.search(matrix[7], 5) == of_matrix(matrix, EXACT).search(matrix[7], 5)


def test_the_same_vectors_make_the_same_graph(tmp_path: Path) -> None:
    matrix = random_vectors(500, 16)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        of_matrix(matrix, GRAPH).save(tmp_path / name, MODEL, GRAPH)
    assert (tmp_path / "one" / "vectors.hnsw").read_bytes() == (tmp_path / "two" / "vectors.hnsw").read_bytes()


KEYS = [f"k{n}" for n in range(300)]
MATRIX = random_vectors(300, 16)
STORED = Vectors(dict(zip(KEYS, MATRIX, strict=True)))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Save an index of KEYS with a graph."""
    VectorIndex.build(KEYS, STORED, GRAPH).save(tmp_path, MODEL, GRAPH)
    return tmp_path


@BOTH
def test_a_loaded_index_answers_as_the_built_one_at_the_same_search_width(settings: Any, tmp_path: Path) -> None:
    built = VectorIndex.build(KEYS, STORED, settings)
    built.save(tmp_path, MODEL, settings)
    loaded = VectorIndex.load(tmp_path, KEYS, STORED, MODEL)
    assert loaded.revision == built.revision
    for query in random_vectors(20, 16, seed=3):
        assert loaded.search(query, 60) == built.search(query, 60)
    if settings is GRAPH:
        assert loaded._graph is not None
        assert built._graph is not None
        assert loaded._graph.ef == built._graph.ef >= 60


def test_the_index_of_another_model_is_not_loaded(saved: Path) -> None:
    with pytest.raises(IndexDamaged, match="model_revision"):
        VectorIndex.load(saved, KEYS, STORED, "another model")


@pytest.mark.parametrize(
    "keys", [KEYS[:-1], KEYS[::-1], [*KEYS[:-1], "k0"], [*KEYS, "new"]], ids=["fewer", "order", "lost", "more"]
)
def test_the_index_of_other_units_is_not_loaded(saved: Path, keys: list[str]) -> None:
    vectors = Vectors({**dict(zip(KEYS, MATRIX, strict=True)), "new": MATRIX[0]})
    with pytest.raises(IndexDamaged, match=r"count|ordered_id_digest"):
        VectorIndex.load(saved, keys, vectors, MODEL)


def test_the_index_of_vectors_of_another_dimension_is_not_loaded(saved: Path) -> None:
    longer = Vectors({key: [*vector, 0.0] for key, vector in zip(KEYS, MATRIX, strict=True)})
    with pytest.raises(IndexDamaged, match="dimension"):
        VectorIndex.load(saved, KEYS, longer, MODEL)


def test_the_index_of_other_vectors_is_not_loaded(saved: Path) -> None:
    others = Vectors(dict(zip(KEYS, MATRIX[::-1], strict=True)))
    with pytest.raises(IndexDamaged, match="vectors_digest"):
        VectorIndex.load(saved, KEYS, others, MODEL)


@pytest.mark.parametrize(("field", "value"), [("space", "l2"), ("dimension", 8), ("count", 299)])
def test_a_sidecar_that_says_something_else_is_not_believed(saved: Path, field: str, value: object) -> None:
    path = saved / "vectors.json"
    fields = json.loads(path.read_bytes())["fields"] | {field: value}
    path.write_bytes(canonical_json({"fields": fields, "digest": digest_of(canonical_json(fields))}))
    with pytest.raises(IndexDamaged, match=field):
        VectorIndex.load(saved, KEYS, STORED, MODEL)


@pytest.mark.parametrize("name", ["vectors.json", "vectors.hnsw"])
@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "flipped", "longer"])
def test_a_damaged_file_is_not_loaded(saved: Path, name: str, damage: str) -> None:
    path = saved / name
    content = path.read_bytes()
    half = len(content) // 2
    flipped = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
    path.write_bytes(
        {"empty": b"", "cut": content[:half], "flipped": flipped, "longer": content + b"\0"}.get(damage, b"")
    )
    if damage == "gone":
        path.unlink()
    with pytest.raises(IndexDamaged):
        VectorIndex.load(saved, KEYS, STORED, MODEL)

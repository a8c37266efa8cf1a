"""The Effective Memory is the overlay of the layers by path, in which every id and every path stands once."""

from hypothesis import given
from hypothesis import strategies as st

from ranker_service.domain.digest import canonical_json, digest_of
from ranker_service.domain.resource import Layer, ParseState, Resource
from ranker_service.memory.overlay import overlay


def a_resource(layer: Layer, resource_id: str, path: str) -> Resource:
    """Return a resource that differs from those of other layers."""
    digest = digest_of(f"{layer} {resource_id} {path}".encode())
    return Resource(resource_id, layer, "document", path, "", "text/markdown", digest, 1, ParseState.PARSED)


def organization(resource_id: str, path: str) -> Resource:
    return a_resource(Layer.ORGANIZATION, resource_id, path)


def project(resource_id: str, path: str) -> Resource:
    return a_resource(Layer.PROJECT, resource_id, path)


def draft(resource_id: str, path: str) -> Resource:
    return a_resource(Layer.DRAFT, resource_id, path)


def test_by_path_a_draft_stands_over_the_project_and_both_over_the_organization() -> None:
    memory = overlay(
        "p",
        [organization("o1", "a"), organization("o2", "b"), organization("o3", "c")],
        [project("p1", "a"), project("p2", "b"), project("p4", "d")],
        [draft("d1", "a"), draft("d5", "e")],
    )
    assert {r.path: r.resource_id for r in memory.resources} == {"a": "d1", "b": "p2", "c": "o3", "d": "p4", "e": "d5"}


def test_an_id_that_two_layers_use_for_two_paths_belongs_to_the_higher_layer() -> None:
    memory = overlay("p", [organization("x", "a")], [project("x", "b")], [draft("x", "c"), draft("y", "d")])
    assert [(r.resource_id, r.path, r.layer) for r in memory.resources] == [
        ("x", "c", Layer.DRAFT),
        ("y", "d", Layer.DRAFT),
    ]


def test_a_resource_shadowed_by_path_does_not_shadow_by_id() -> None:
    memory = overlay("p", [organization("x", "a")], [project("x", "b")], [draft("y", "b")])
    assert [(r.resource_id, r.path) for r in memory.resources] == [("x", "a"), ("y", "b")]


def test_the_hash_is_the_digest_of_the_canonical_manifest() -> None:
    memory = overlay("prøject", [organization("b", "x")], [project("a", "y")], [])
    rows = [
        ["a", "project", "document", "y", "", "text/markdown", project("a", "y").digest],
        ["b", "organization", "document", "x", "", "text/markdown", organization("b", "x").digest],
    ]
    assert memory.hash == digest_of(canonical_json(["prøject", rows]))


names = st.sampled_from("abcde")


def layers(layer: Layer) -> st.SearchStrategy[list[Resource]]:
    """Generate a layer in which each id and each path stands once."""
    pairs = st.dictionaries(names, names, max_size=5).filter(lambda pairs: len(set(pairs.values())) == len(pairs))
    return pairs.map(lambda pairs: [a_resource(layer, resource_id, path) for resource_id, path in pairs.items()])


@given(layers(Layer.ORGANIZATION), layers(Layer.PROJECT), layers(Layer.DRAFT))
def test_ids_and_paths_are_unique_and_every_draft_counts(
    below: list[Resource], middle: list[Resource], top: list[Resource]
) -> None:
    memory = overlay("p", below, middle, top)
    assert len({r.resource_id for r in memory.resources}) == len(memory.resources)
    assert len({r.path for r in memory.resources}) == len(memory.resources)
    assert set(top) <= set(memory.resources) <= {*below, *middle, *top}
    assert memory == overlay("p", below[::-1], middle[::-1], top[::-1])

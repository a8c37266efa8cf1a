"""Exact identity: which units a query names, how well, and in which order."""

import unicodedata
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker_service.domain.unit import Unit
from ranker_service.index.identity import IdentityIndex, normalized
from tests.builders import a_resource, a_unit

LIMIT, LEAST = 20, 3


def named(resource_id: str, path: str = "", title: str = "", headings: tuple[str, ...] = ()) -> Unit:
    return a_unit(resource=a_resource(resource_id, path=path or resource_id, title=title), heading_path=headings)


UNITS = [
    named("r1", "docs/Deploy.md", "Deploying"),
    named("r1", "docs/Deploy.md", "Deploying", ("Deploying", "Rolling back")),
    named("r2", "docs/deploy-checklist.md", "Checklist"),
    named("deploy", "ops/other.md", "Deployment rota"),
    named("r4", "ops/rolling.md", "", ("Rolling",)),
    named("r5", "Übung/straße.md", "Größe", ("C++ builds",)),
]


def hits(query: str, units: list[Unit] | None = None, limit: int = LIMIT) -> list[tuple[int, int]]:
    index = IdentityIndex.build(UNITS if units is None else units)
    return [(hit.row, hit.priority) for hit in index.search(query, None, limit, LEAST)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("deploy", [(3, 0), (0, 2), (1, 2), (2, 2)]),
        ("  DEPLOY ", [(3, 0), (0, 2), (1, 2), (2, 2)]),
        ("docs/deploy.md", [(0, 1), (1, 1)]),
        ("deploy.md", [(0, 1), (1, 1)]),
        ("deploying", [(0, 1), (1, 1)]),
        ("rolling back", [(1, 1)]),
        ("rolling", [(4, 1), (1, 2)]),
        ("r1", [(0, 0), (1, 0)]),
        ("r", []),
        ("ro", []),
        ("rol", []),
        ("docs/", [(0, 2), (1, 2), (2, 2)]),
        ("docs", [(0, 2), (1, 2), (2, 2)]),
        ("checklist", [(2, 1)]),
        ("grösse", [(5, 1)]),
        (unicodedata.normalize("NFD", "Größe"), [(5, 1)]),
        ("STRASSE", [(5, 2)]),
        ("c++", [(5, 2)]),
        ("nothing of the kind", []),
        ("", []),
        ("   ", []),
    ],
)
def test_a_query_finds_the_units_that_it_names(query: str, expected: list[tuple[int, int]]) -> None:
    assert hits(query) == expected


def test_a_unit_without_a_title_or_heading_is_not_named_by_nothing() -> None:
    assert hits("\u3000", [named("a"), named("b")]) == []


def test_only_its_own_heading_names_a_unit() -> None:
    units = [named("a", headings=("Parent",)), named("a", headings=("Parent", "Child"))]
    assert hits("parent", units) == [(0, 1)]


def test_the_limit_takes_the_lowest_rows_of_the_best_priority() -> None:
    units = [named(f"n{n:02}", title="Same") for n in range(50)]
    assert hits("same", units, limit=5) == [(n, 1) for n in range(5)]
    assert hits("same", units, limit=0) == []


def test_a_unit_named_twice_takes_one_place() -> None:
    units = [named("topic", title="topic", headings=("Topic",)), named("topics", title="topic two")]
    assert hits("topic", units, limit=2) == [(0, 0), (1, 2)]


def test_only_allowed_rows_are_hits() -> None:
    index = IdentityIndex.build(UNITS)
    allowed = np.array([False, True, False, False, True, True])
    assert [hit.row for hit in index.search("deploy", allowed, LIMIT, LEAST)] == [1]


def test_a_loaded_index_answers_as_the_built_one(tmp_path: Path) -> None:
    built = IdentityIndex.build(UNITS)
    built.save(tmp_path)
    loaded = IdentityIndex.load(tmp_path)
    for query in ("deploy", "docs", "rolling", "r1", "grösse"):
        assert loaded.search(query, None, LIMIT, LEAST) == built.search(query, None, LIMIT, LEAST)


def test_an_index_without_units_has_no_hits(tmp_path: Path) -> None:
    IdentityIndex.build([]).save(tmp_path)
    assert IdentityIndex.load(tmp_path).search("deploy", None, LIMIT, LEAST) == []


NAMES = st.text("aAb. /-é", max_size=6)


def slowly(units: list[Unit], query: str, limit: int) -> list[tuple[int, int]]:
    """Say the rule again, name by name."""
    wanted = normalized(query)
    best: dict[int, int] = {}
    for (row, unit), which in product(enumerate(units), range(5)):
        heading = unit.heading_path[-1] if unit.heading_path else ""
        resource = unit.resource
        names = [resource.resource_id, resource.path, resource.path.split("/")[-1], resource.title, heading]
        name = normalized(names[which])
        if not wanted or not name:
            continue
        if name == wanted:
            best[row] = min(best.get(row, 9), 0 if which == 0 else 1)
        elif len(wanted) >= LEAST and name.startswith(wanted):
            ends_word = not (wanted[-1].isalnum() and name[len(wanted)].isalnum())
            best[row] = min(best.get(row, 9), 2 if ends_word else 9)
    return sorted(((row, priority) for row, priority in best.items() if priority < 9), key=lambda hit: hit[::-1])[
        :limit
    ]


@settings(deadline=None)
@given(st.lists(st.builds(named, NAMES, NAMES, NAMES, st.tuples(NAMES)), max_size=12), NAMES, st.integers(1, 5))
def test_hits_are_those_of_the_rule_applied_name_by_name(units: list[Unit], query: str, limit: int) -> None:
    assert hits(query, units, limit) == slowly(units, query, limit)

"""The page on security names tests that exist, and the list of licences is what is installed."""

import ast
import re
from pathlib import Path

from tests import make_licences

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


def test_every_test_that_the_page_names_exists() -> None:
    assert len(NAMED) > 50
    for file in {file for file, _ in NAMED}:
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert [name for named, name in NAMED if named == file and name not in there] == [], file


def test_every_line_on_who_may_do_what_names_a_test() -> None:
    table = PAGE.partition("## Who may do what")[2].partition("\n\nLimits")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 15
    assert [row for row in rows if "::test_" not in row] == []


def test_the_list_of_licences_is_current() -> None:
    assert make_licences.TARGET.read_text("utf-8") == make_licences.page(), "run python -m tests.make_licences"

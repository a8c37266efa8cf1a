"""Replay against the real services: what an unchanged ranker and a worse profile make of an exported set."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ranktrail.history.v1 import history_service_pb2 as history_pb
from ranktrail.ranker.v1 import ranker_service_pb2 as ranker_pb
from ranktrail_client.collections import read_cranfield
from tests import evaluation_sets as sets
from tests.collections import Command, commands_on, published, write_beir
from tests.processes import Stack, short_directory

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.xdist_group("replay")]

QUERIES, DOCUMENTS = 40, 160
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "eval-replay.schema.json"


@dataclass
class Exported:
    """Running services, and the file of a set that they made."""

    stack: Stack
    fixture: Path


def lexical_profile() -> str:
    """Return the default profile without dense search and reranking, under the name lexical."""
    text = (files("ranker_service") / "profiles" / "activation.v1.toml").read_text("utf-8")
    text = text.replace('name = "activation.v1"', 'name = "lexical"').replace('"late_interaction"', '"none"')
    return re.sub(r"(\[dense\]\nlimit = )60", r"\g<1>0", text)


def a_part_of_cranfield(folder: Path) -> Path:
    """Write the queries that the first documents answer best, with those documents, as a BEIR folder."""
    whole = read_cranfield(published("cranfield"))
    kept = {one.document_id: one for one in whole.documents[:DOCUMENTS]}
    judged = {
        query.query_id: {name: grade for name, grade in query.judgments.items() if name in kept}
        for query in whole.queries
    }
    best = sorted(whole.queries, key=lambda query: -len(judged[query.query_id]))[:QUERIES]
    documents = [{"_id": name, "title": one.title, "text": one.text} for name, one in kept.items()]
    queries = [{"_id": one.query_id, "text": one.text} for one in best]
    qrels = [f"{one.query_id}\t{name}\t{grade}" for one in best for name, grade in judged[one.query_id].items()]
    return write_beir(folder, documents, queries, qrels)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exported]:
    folder = tmp_path_factory.mktemp("replay")
    with short_directory() as directory:
        profiles = directory / "ranker" / "profiles"
        profiles.mkdir(parents=True)
        (profiles / "lexical.toml").write_text(lexical_profile())
        stack = Stack(directory)
        try:
            stack.start()
            yield Exported(stack, folder / "set.json")
        finally:
            stack.close()


@pytest.fixture
def command(exported: Exported, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    called = commands_on(exported.stack.data_dir, capsys)
    if not exported.fixture.exists():
        source = a_part_of_cranfield(tmp_path / "cranfield")
        assert called("import", source, "--project", "cranfield", "--format", "beir").code == 0
        assert called("export", "--project", "cranfield", "--out", exported.fixture).code == 0
    return called


def differences(contestant: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(one["order"], one["measure"]): one for one in contestant["differences"]}


def assert_figures_of_the_report(fixture: Path, contestant: Mapping[str, Any]) -> None:
    """The frozen side has what history computed: the fixture's own report."""
    found = {key: one["baseline"] for key, one in differences(contestant).items()}
    found |= {(one["order"], "Judged@10"): one["baseline"] for one in contestant["coverage"]}
    means = {
        (variant["variant"], one["measure"]): one["mean"]
        for variant in sets.read(fixture.read_bytes())["report"]["variants"]
        for one in variant["measures"]
    }
    shared = found.keys() & means.keys()
    assert len(shared) == 16
    for key in shared:
        assert found[key] == pytest.approx(means[key], abs=1e-12), key


def counts(stack: Stack) -> tuple[int, list[str], Any]:
    runs = stack.history_stub.GetRuntime(history_pb.GetRuntimeRequest(), timeout=30).run_count
    projects = stack.ranker_stub.GetRuntime(ranker_pb.GetRuntimeRequest(), timeout=30).projects
    return runs, [one.project_id for one in projects], [one.index_revision for one in projects]


def test_an_unchanged_ranker_differs_by_exactly_nothing_and_leaves_no_trace(
    exported: Exported, command: Command, tmp_path: Path
) -> None:
    before = counts(exported.stack)
    ended = command("evals", "replay", exported.fixture, "--output", tmp_path / "out", "--json")
    assert ended.code == 0, ended.err
    assert counts(exported.stack) == before
    found = ended.json
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    (contestant,) = found["contestants"]
    assert (found["exit_code"], contestant["profile"], found["case_count"]) == (0, "activation.v1", QUERIES)
    assert {one["outcome"] for one in found["decisions"]} == {"PASS"}
    assert contestant["changes"] == contestant["failed"] == contestant["revisions"] == []
    for one in contestant["differences"]:
        assert (one["difference"], one["better"], one["worse"], one["p_value"]) == (0.0, 0, 0, None)
        assert one["paired"] == found["scored_count"]
    assert contestant["judgments"]["moved"] == contestant["judgments"]["gone"] == 0
    assert_figures_of_the_report(exported.fixture, contestant)
    html, document, junit = sorted((tmp_path / "out").iterdir())
    assert json.loads(document.read_text()) == found
    assert "failure" not in junit.read_text().replace('failures="0"', "")
    assert "activation.v1" in html.read_text()


def test_a_profile_without_dense_and_rerank_drops_significantly_and_the_cases_are_named(
    exported: Exported, command: Command
) -> None:
    ended = command("evals", "replay", exported.fixture, "--profile", "lexical", "--json")
    assert ended.code == 1, ended.err
    default, lexical = ended.json["contestants"]
    assert (default["profile"], lexical["profile"]) == ("activation.v1", "lexical")
    assert default["changes"] == []
    found = differences(lexical)
    returned = found["returned", "R@20"]
    assert returned["difference"] < 0
    assert returned["p_value"] < 0.05
    assert returned["interval"][1] < 0
    for order in ("b2_dense_vector", "b4_reranked"):
        assert (found[order, "nDCG@10"]["value"], found[order, "nDCG@10"]["paired"]) == (None, 0)
    assert found["b1_bm25", "nDCG@10"]["difference"] == 0
    stages = {lost["stage"] for case in lexical["changes"] for lost in case["lost"]}
    assert stages & {"not_recalled", "fragment_limit", "token_budget"}
    assert {one["outcome"] for one in ended.json["decisions"] if one["profile"] == "lexical"} >= {"FAIL"}


def test_an_unknown_profile_and_a_fixture_that_was_changed_are_refused(
    exported: Exported, command: Command, tmp_path: Path
) -> None:
    refused = command("evals", "replay", exported.fixture, "--profile", "none")
    assert (refused.code, "--profile 'none' is not known" in refused.err) == (2, True)
    fixture = sets.read(exported.fixture.read_bytes())
    fixture["cases"][0]["query"] = "another"
    changed = tmp_path / "changed.json"
    changed.write_bytes(sets.canonical(fixture))
    ended = command("evals", "replay", changed)
    assert (ended.code, "it was changed" in ended.err) == (5, True)
    fixture["bodies"][0]["content"] += " "
    changed.write_bytes(sets.signed(fixture))
    ended = command("evals", "replay", changed)
    assert (ended.code, "is damaged" in ended.err) == (5, True)

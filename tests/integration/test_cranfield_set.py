"""The whole Cranfield collection through the commands, beside what others compute from its export."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir_measures
import pytest
import pytrec_eval
import ranx
from ir_measures import RR, Judged, R

from tests.collections import published
from tests.processes import running_stack

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.xdist_group("cranfield")]

VARIANTS = ("b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked")
EXPECTED_JUDGMENTS = {1: 734 + 363, 2: 387, 3: 128}
"""What SOURCE.txt counts of the codes 3 and 4, 2 and 1."""


def _command(data_dir: Path, *arguments: object) -> Any:
    command = [sys.executable, "-m", "ranktrail_cli", *map(str, arguments), "--json", "--data-dir", str(data_dir)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.fixture(scope="module")
def cranfield(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What import and report say, and the folder of the TREC export."""
    folder, out = published("cranfield"), tmp_path_factory.mktemp("cranfield") / "trec"
    with running_stack() as stack:
        imported = _command(stack.data_dir, "import", folder, "--project", "cranfield", "--format", "cranfield")
        report = _command(stack.data_dir, "report", "--project", "cranfield")
        _command(stack.data_dir, "export", "--project", "cranfield", "--format", "trec", "--out", out)
        yield {"imported": imported, "report": report, "trec": out}


def _measures(cranfield: dict[str, Any], variant: str) -> dict[str, Any]:
    (found,) = [one for one in cranfield["report"]["variants"] if one["variant"] == variant]
    return dict(found["measures"])


def _columns(file: Path) -> list[list[str]]:
    return [line.split() for line in file.read_text("utf-8").splitlines()]


def _parsed(cranfield: dict[str, Any], variant: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return judgments and ranking as pytrec_eval reads them: case id to name to relevance or score."""
    with (cranfield["trec"] / "qrels.txt").open() as qrels, (cranfield["trec"] / f"{variant}.run").open() as run:
        return pytrec_eval.parse_qrel(qrels), pytrec_eval.parse_run(run)


def test_every_query_is_a_case_with_the_judgments_of_its_place(cranfield: dict[str, Any]) -> None:
    imported = cranfield["imported"]
    assert (imported["imported_case_count"], imported["document_count"]) == (225, 1400)
    assert [case["query_id"] for case in imported["cases"]] == [str(place) for place in range(1, 226)]
    query_of = {case["case_id"]: case["query_id"] for case in imported["cases"]}
    grades = {1: "3 4", 2: "2", 3: "1"}
    expected = {
        (query, document, relevance)
        for query, document, code in _columns(published("cranfield") / "cranqrel")
        for relevance, codes in grades.items()
        if code in codes.split()
    }
    found = [
        (query_of[case], document, int(grade)) for case, _, document, grade in _columns(cranfield["trec"] / "qrels.txt")
    ]
    assert set(found) == expected
    counts = {grade: sum(relevance == grade for *_, relevance in found) for grade in grades}
    assert counts == EXPECTED_JUDGMENTS


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_report_is_what_ir_measures_computes_from_the_export(cranfield: dict[str, Any], variant: str) -> None:
    qrels = list(ir_measures.read_trec_qrels(str(cranfield["trec"] / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(cranfield["trec"] / f"{variant}.run")))
    found = ir_measures.calc_aggregate([R @ 20, RR, Judged @ 10], qrels, run)
    measures = _measures(cranfield, variant)
    for measure in (R @ 20, RR, Judged @ 10):
        ours = measures[str(measure)]
        assert (ours["scored"], ours["total"]) == (225, 225)
        assert ours["mean"] == pytest.approx(found[measure], abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_report_is_what_pytrec_eval_computes_from_the_export(cranfield: dict[str, Any], variant: str) -> None:
    qrels, run = _parsed(cranfield, variant)
    found = pytrec_eval.RelevanceEvaluator(qrels, {"recall.20", "recip_rank"}).evaluate(run)
    measures = _measures(cranfield, variant)
    for theirs, ours in (("recall_20", "R@20"), ("recip_rank", "RR")):
        mean = sum(values[theirs] for values in found.values()) / len(found)
        assert measures[ours]["mean"] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_ndcg_is_what_ranx_computes_from_the_export(cranfield: dict[str, Any], variant: str) -> None:
    qrels, run = _parsed(cranfield, variant)
    by_ranx = ranx.evaluate(qrels, {case_id: run[case_id] for case_id in qrels}, "ndcg_burges@10")
    assert _measures(cranfield, variant)["nDCG@10"]["mean"] == pytest.approx(by_ranx, abs=1e-6)


def test_fusion_and_reranking_find_more_than_their_parts(cranfield: dict[str, Any]) -> None:
    recall = {variant: _measures(cranfield, variant)["R@20"]["mean"] for variant in VARIANTS}
    assert recall["b4_reranked"] >= recall["b3_hybrid_rrf"] > max(recall["b1_bm25"], recall["b2_dense_vector"]) > 0.45

"""Sets in the forms of others: TREC, BEIR and OpenInference."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import ir_measures
import pytest
import ranx
from ir_measures import RR, Judged, R

from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from tests import evaluation_sets as sets
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import a_candidate, digest

TREC, BEIR = sets.Format.FORMAT_TREC, sets.Format.FORMAT_BEIR
SPANS = sets.Format.FORMAT_OPENINFERENCE
VARIANTS = ("b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked")


def _trec(history: RunningHistory, directory: Path) -> Path:
    for name, content in sets.files_of(sets.exported(history, format=TREC)).items():
        (directory / name).write_bytes(content)
    return directory


def _means(history: RunningHistory, case_ids: list[str], variant: str) -> dict[str, float]:
    request = pb.GetBenchmarkReportRequest(case_ids=case_ids, skip_comparisons=True)
    report = history.evaluation.GetBenchmarkReport(request, timeout=TIMEOUT).report
    (found,) = [one for one in report.variants if one.variant == variant]
    return {one.measure: one.mean for one in found.measures}


def _relevant(history: RunningHistory, case_ids: list[str]) -> list[str]:
    return [case_id for case_id in case_ids if any(one.relevance for one in cases.get(history, case_id).judgments)]


def _spans(history: RunningHistory) -> list[list[dict[str, Any]]]:
    lines = sets.exported(history, format=SPANS).decode("utf-8").split("\n")
    assert lines.pop() == ""
    traces = [json.loads(line) for line in lines]
    return [trace["resourceSpans"][0]["scopeSpans"][0]["spans"] for trace in traces]


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for attribute in span["attributes"]:
        ((kind, value),) = attribute["value"].items()
        found[attribute["key"]] = int(value) if kind == "intValue" else value
    assert len(found) == len(span["attributes"])
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_measures_of_trec_files_are_those_of_the_report(
    history: RunningHistory, tmp_path: Path, variant: str
) -> None:
    case_ids = sets.a_judged_set(history, 14)
    relevant = _relevant(history, case_ids)
    assert 5 < len(relevant) < len(case_ids)
    folder = _trec(history, tmp_path)
    means = _means(history, relevant, variant)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(folder / f"{variant}.run")))
    assert {one.query_id for one in qrels} == set(relevant)
    found = ir_measures.calc_aggregate([R @ 20, RR, Judged @ 10], qrels, run)
    for measure in (R @ 20, RR, Judged @ 10):
        assert means[str(measure)] == pytest.approx(found[measure], abs=1e-6)
    everything = _means(history, case_ids, variant)
    assert (everything["R@20"], everything["RR"]) == pytest.approx((means["R@20"], means["RR"]), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_ndcg_of_trec_files_is_that_of_the_report(history: RunningHistory, tmp_path: Path, variant: str) -> None:
    sets.a_judged_set(history, 14)
    folder = _trec(history, tmp_path)
    by_ranx = ranx.evaluate(
        ranx.Qrels.from_file(str(folder / "qrels.txt"), kind="trec"),
        ranx.Run.from_file(str(folder / f"{variant}.run"), kind="trec"),
        "ndcg_burges@10",
        make_comparable=True,
    )
    assert _means(history, [], variant)["nDCG@10"] == pytest.approx(by_ranx, abs=1e-6)


def test_trec_lines_have_their_columns_and_scores_that_never_tie(history: RunningHistory, tmp_path: Path) -> None:
    case_ids = sets.a_judged_set(history)
    folder = _trec(history, tmp_path)
    for line in (folder / "qrels.txt").read_text().splitlines():
        assert re.fullmatch(r"\S{26} 0 \S+ [0-3]", line)
    for variant in VARIANTS:
        last: dict[str, tuple[int, float]] = {}
        for line in (folder / f"{variant}.run").read_text().splitlines():
            case_id, q0, _docno, rank, score, tag = line.split(" ")
            assert (q0, tag) == ("Q0", variant)
            before = last.get(case_id, (0, math.inf))
            assert int(rank) == before[0] + 1
            assert float(score) < before[1]
            last[case_id] = (int(rank), float(score))
    topics = [line.split("\t") for line in (folder / "topics.tsv").read_text().split("\n")[:-1]]
    assert [case_id for case_id, _ in topics] == sorted(_relevant(history, case_ids))
    assert all(query.endswith("?  😀") for _, query in topics)


def test_ids_with_white_space_are_one_column_each_and_can_be_read_back(history: RunningHistory, tmp_path: Path) -> None:
    ids = ["a b", "a%20b", "tab\tand\nline", "nul\0", "no-break\xa0space", "line\u2028separator", "ünïcode 東京"]
    bodies = {name: name.encode() for name in ids}
    candidates = [a_candidate(n, resource_id=name, unit_key=f"{name}#") for n, name in enumerate(ids, start=1)]
    case = cases.pinned(history, bodies=bodies, candidates=candidates)
    judgments = [cases.a_judgment(unit_key=f"{name}#", resource_id=name) for name in ids]
    cases.replace(history, case.case_id, 1, *judgments)
    folder = _trec(history, tmp_path)
    qrels = ir_measures.read_trec_qrels(str(folder / "qrels.txt"))
    run = ir_measures.read_trec_run(str(folder / "b3_hybrid_rrf.run"))
    assert {unquote(one.doc_id) for one in qrels} == {f"{name}#" for name in ids}
    assert [unquote(one.doc_id) for one in run] == [f"{name}#" for name in ids]


def test_a_judged_case_that_found_nothing_counts_as_nothing(history: RunningHistory, tmp_path: Path) -> None:
    found, empty = cases.pinned(history), cases.pinned(history, "empty", candidates=[])
    cases.replace(history, found.case_id, 1, cases.a_judgment())
    cases.replace(history, empty.case_id, 1, cases.a_judgment(unit=False, missed=True))
    folder = _trec(history, tmp_path)
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(folder / "b1_bm25.run")))
    assert ir_measures.calc_aggregate([R @ 20], qrels, run)[R @ 20] == 0.5
    assert _means(history, [], "b1_bm25")["R@20"] == 0.5


@pytest.mark.parametrize("form", [TREC, BEIR])
def test_the_same_set_is_the_same_tar(history: RunningHistory, form: Any) -> None:
    sets.a_judged_set(history)
    assert sets.exported(history, format=form) == sets.exported(history, format=form)
    assert all(sets.files_of(sets.exported(history, format=form, project_id="nowhere")))


def test_a_beir_folder_holds_the_corpus_the_queries_and_the_relevance_of_documents(history: RunningHistory) -> None:
    bodies = cases.BODIES | {"binary": b"\xff", 'tab\t"quoted"': "text ✓".encode()}
    case = cases.pinned(history, bodies=bodies, query='how "do"\twe?')
    judgments = [
        cases.a_judgment(1, relevance=1),
        cases.a_judgment(1, unit=False, relevance=3),
        cases.a_judgment(2, relevance=0),
        cases.a_judgment(resource_id='tab\t"quoted"', unit=False, unit_key=None, missed=True),
    ]
    cases.replace(history, case.case_id, 1, *judgments)
    unjudged = cases.pinned(history, "unjudged", bodies=bodies)
    files = sets.files_of(sets.exported(history, format=BEIR))
    assert list(files) == ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    documents = [json.loads(line) for line in files["corpus.jsonl"].decode().split("\n")[:-1]]
    assert {one["_id"]: one["text"] for one in documents} == {
        name: "" if name == "binary" else body.decode() for name, body in bodies.items()
    }
    queries = [json.loads(line) for line in files["queries.jsonl"].decode().split("\n")[:-1]]
    assert {one["_id"]: one["text"] for one in queries} == {
        case.case_id: 'how "do"\twe?',
        unjudged.case_id: "how do we deploy?",
    }
    text = io.StringIO(files["qrels/test.tsv"].decode(), newline="")
    assert list(csv.reader(text, delimiter="\t", quoting=csv.QUOTE_MINIMAL)) == [
        ["query-id", "corpus-id", "score"],
        [case.case_id, "doc-0001", "3"],
        [case.case_id, "doc-0002", "0"],
        [case.case_id, 'tab\t"quoted"', "2"],
    ]


def test_a_resource_with_two_contents_is_two_documents_of_a_beir_folder(history: RunningHistory) -> None:
    old = cases.pinned(history)
    new = cases.pinned(history, "later", bodies=cases.BODIES | {"doc-0001": b"changed"})
    for case in (old, new):
        cases.replace(history, case.case_id, 1, cases.a_judgment(1), cases.a_judgment(2))
    files = sets.files_of(sets.exported(history, format=BEIR))
    names = [json.loads(line)["_id"] for line in files["corpus.jsonl"].splitlines()]
    contents = {case.case_id: digest(body)[:12] for case, body in ((old, b"body 1"), (new, b"changed"))}
    both = {f"doc-0001@{start}" for start in contents.values()}
    assert len(names) == 7
    assert set(names) == both | {f"doc-{n:04d}" for n in range(2, 7)}
    lines = files["qrels/test.tsv"].decode().splitlines()[1:]
    expected = [
        [case_id, name] for case_id in sorted(contents) for name in (f"doc-0001@{contents[case_id]}", "doc-0002")
    ]
    assert [line.split("\t")[:2] for line in lines] == expected


def test_a_run_is_a_chain_of_a_retriever_and_a_reranker(history: RunningHistory) -> None:
    latencies = [{"stage": stage, "duration_us": 1_000} for stage in ("bm25", "rrf", "rerank", "selection")]
    case = cases.pinned(history, finished={"stage_latencies": latencies})
    judgments = [cases.a_judgment(1, relevance=3, notes="yes"), cases.a_judgment(5, unit=False, missed=True)]
    cases.replace(history, case.case_id, 1, *judgments)
    (spans,) = _spans(history)
    chain, retriever, reranker = map(_attributes, spans)
    kinds = [one["openinference.span.kind"] for one in (chain, retriever, reranker)]
    assert kinds == ["CHAIN", "RETRIEVER", "RERANKER"]
    for span in spans:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"])
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"])
        assert span["traceId"] == spans[0]["traceId"]
    assert [span.get("parentSpanId") for span in spans] == [None, spans[0]["spanId"], spans[0]["spanId"]]
    assert len({span["spanId"] for span in spans}) == 3
    begin = int(spans[0]["startTimeUnixNano"])
    assert (int(spans[2]["startTimeUnixNano"]), int(spans[2]["endTimeUnixNano"])) == (
        begin + 2_000_000,
        begin + 3_000_000,
    )
    assert (chain["input.value"], chain["input.mime_type"]) == ("how do we deploy?", "text/plain")
    assert json.loads(chain["output.value"]) == ["doc-0001#body/1/0", "doc-0002#body/1/0"]
    assert (chain["annotations.0.annotation.score"], chain["annotations.0.annotation.annotator_kind"]) == (3, "HUMAN")
    assert chain["annotations.0.annotation.explanation"] == "yes"
    assert json.loads(chain["annotations.1.annotation.metadata"])["missed"] is True
    assert [retriever[f"retrieval.documents.{n}.document.id"] for n in range(3)] == [
        f"doc-{n:04d}#body/1/0" for n in (1, 2, 3)
    ]
    assert retriever["retrieval.documents.0.document.score"] == 2 / 61
    assert json.loads(retriever["retrieval.documents.0.document.metadata"])["judged_relevance"] == 3
    assert (reranker["reranker.query"], reranker["reranker.top_k"]) == ("how do we deploy?", 3)
    assert reranker["reranker.model_name"] == "late_interaction.v1"
    assert reranker["reranker.output_documents.2.document.score"] == 0.5
    scores = {
        reranker[f"evaluations.{n}.evaluation.name"]: reranker[f"evaluations.{n}.evaluation.score"] for n in range(7)
    }
    assert scores["R@20"] == 0.5


def test_a_run_without_a_reranker_has_no_span_of_one(history: RunningHistory) -> None:
    cases.pinned(history)
    (spans,) = _spans(history)
    assert [span["name"] for span in spans] == ["activate_memory", "retrieve"]

"""The datasets that ship are what the documents say of them, and the baseline is what a run makes today."""

import asyncio
from pathlib import Path

from ranktrail_evals.answers import OfflineAnswerer
from ranktrail_evals.comparison import ComparisonExit, compare
from ranktrail_evals.contexts import OfflineRetriever
from ranktrail_evals.dataset.discovery import find_dataset, list_datasets
from ranktrail_evals.evaluation import evaluate
from ranktrail_evals.gate import make_gate
from ranktrail_evals.join import holds_text
from ranktrail_evals.labels import is_refusal
from ranktrail_evals.results.model import GateExit, Outcome, Result
from ranktrail_evals.results.reading import read_result
from ranktrail_evals.results.summary import Stamp, Subject, make_result
from ranktrail_evals.runner import Limits, Runner

ROOT = Path(__file__).resolve().parents[3]


def measured(name: str) -> Result:
    dataset = find_dataset(name, None, None)
    runner = Runner(Limits(4, 5, 5), lambda *_: None)
    found = asyncio.run(evaluate(runner, dataset.records, OfflineRetriever(), OfflineAnswerer()))
    subject = Subject(dataset, None, None, 0, "offline", None)
    return make_result(subject, Stamp.now(name), make_gate(dataset.records, [], []), found)


def test_four_datasets_ship_and_all_are_cc0() -> None:
    listed = [one.dataset for one in list_datasets(None)]
    assert [one and one.dataset_id for one in listed] == [
        "localrag-cited",
        "localrag-core",
        "localrag-graded",
        "localrag-scope",
    ]
    assert all(one is not None and one.license == "CC0-1.0" and one.title and one.description for one in listed)


def test_the_scope_dataset_fails_for_its_retrieval() -> None:
    result = measured("localrag-scope")
    assert result.exit_code is GateExit.FAILED
    recall = result.metrics["retrieval_recall"]
    assert (recall.value, recall.threshold, recall.outcome) == (0.375, 0.8, Outcome.FAIL)
    assert [one.metrics["retrieval_recall"].value for one in result.records] == [0.0, 0.5, 0.0, 1.0]
    assert ["context_omission" in one.labels for one in result.records] == [True, True, True, False]
    assert (result.metrics["exact_match"].value, result.metrics["exact_match"].outcome) == (0.0, Outcome.FAIL)
    assert result.metrics["f1"].outcome is Outcome.FAIL
    citations = result.metrics["citation_accuracy"]
    assert (citations.value, citations.outcome) == (None, Outcome.UNAVAILABLE)
    assert {one.metrics["citation_accuracy"].reason for one in result.records} == {"missing_annotation"}


def test_the_core_dataset_has_23_records_two_splits_and_questions_out_of_scope() -> None:
    dataset, result = find_dataset("localrag-core", None, None), measured("localrag-core")
    assert len(dataset.records) == 23
    assert set(dataset.splits) == {"dev", "test"}
    outside = [one for one in dataset.records if not one.citations]
    assert len(outside) == 3
    assert all(is_refusal(one.reference_answer) for one in outside)
    assert result.metrics["retrieval_recall"].value == 1.0
    assert result.exit_code is GateExit.PASSED


def test_the_core_dataset_quotes_the_documents_as_they_are() -> None:
    dataset = find_dataset("localrag-core", None, None)
    gone = [
        citation.citation_id
        for record in dataset.records
        for citation in record.citations
        if not any(holds_text(part, citation.text or "") for part in (ROOT / citation.source).read_text().split("\n\n"))
    ]
    assert gone == []


def test_the_graded_dataset_has_an_order_to_measure() -> None:
    result = measured("localrag-graded")
    value = result.metrics["nDCG@10"].value
    assert value is not None
    assert 0.7 < value < 1
    assert result.exit_code is GateExit.PASSED


def test_the_dataset_with_citations_passes_every_metric_without_a_judge() -> None:
    result = measured("localrag-cited")
    assert result.required == ("exact_match", "f1", "citation_accuracy", "retrieval_recall")
    assert {result.metrics[name].outcome for name in result.required} == {Outcome.PASS}
    assert result.exit_code is GateExit.PASSED


def test_the_baseline_that_ships_is_what_a_run_makes_today() -> None:
    baseline, today = read_result("localrag-scope"), measured("localrag-scope")
    same = {"result_id": "", "create_time": "", "product_version": ""}
    assert today.model_copy(update=same) == baseline.model_copy(update=same)
    assert compare(baseline, today, tolerance=0, seed=0).exit_code is ComparisonExit.HELD

"""A dataset with anything wrong is refused before anything is scored, with the file and the record named."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranktrail_evals.dataset.reading import read_dataset
from ranktrail_evals.errors import DatasetInvalid
from tests.unit.evals.made import dataset_json, record_json, with_citations, written


def good() -> dict[str, Any]:
    first = with_citations("a", "b", relevant=["a"], offline_retrieved_citation_ids=["b"], answer_citation_ids=["a"])
    return dataset_json(first, record_json("r2"), splits={"dev": ["r1"], "test": ["r2"]})


def first(document: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = document["records"][0]
    return record


def graded(document: dict[str, Any], *grades: int | None) -> None:
    for judgment, grade in zip(first(document)["judgments"], grades, strict=True):
        judgment["grade"] = grade


Break = Callable[[dict[str, Any]], Any]

BROKEN: dict[str, tuple[Break, str]] = {
    "unknown field": (lambda d: d.update(colour=1), "colour: is no field of this format"),
    "unknown field of a record": (
        lambda d: first(d).update(answer="x"),
        "record 'r1': answer: is no field of this format",
    ),
    "unknown field of a citation": (
        lambda d: first(d)["citations"][0].update(page=1),
        "record 'r1': citations.0.page: is no field of this format",
    ),
    "missing field": (lambda d: first(d).pop("question"), "record 'r1': question: field required"),
    "another type": (lambda d: first(d).update(question=1), "record 'r1': question: input should be a valid string"),
    "a word for a truth": (lambda d: first(d)["judgments"][0].update(relevant="yes"), "judgments.0.relevant: input"),
    "no record id": (lambda d: first(d).pop("record_id"), "record number 1: record_id: field required"),
    "format of later": (lambda d: d.update(format_version=2), "format_version: input should be 1"),
    "no version": (lambda d: d.update(version="newest"), "version 'newest' is no version"),
    "no records": (lambda d: d.update(records=[]), "records: "),
    "path as a name": (lambda d: d.update(dataset_id="../x"), "dataset_id: "),
    "line in a name": (lambda d: d.update(dataset_id="x\n"), "dataset_id: "),
    "record twice": (lambda d: d["records"].append(record_json("r2")), "record 'r2': record_id is used twice"),
    "blank question": (lambda d: first(d).update(question=" \n"), "record 'r1': question is blank"),
    "citation twice": (
        lambda d: first(d)["citations"].append(first(d)["citations"][0]),
        "record 'r1': citations: 'a' is declared twice",
    ),
    "citation without a word": (
        lambda d: first(d)["citations"][0].update(text="…"),
        "record 'r1': citations: 'a' has a text without a word",
    ),
    "dangling judgment": (
        lambda d: first(d)["judgments"][0].update(citation_id="z"),
        "record 'r1': judgments: 'z' is none of the record's citations",
    ),
    "judgment twice": (
        lambda d: first(d)["judgments"].append(first(d)["judgments"][0]),
        "record 'r1': judgments: 'a' stands there twice",
    ),
    "dangling answer citation": (lambda d: first(d).update(answer_citation_ids=["z"]), "answer_citation_ids: 'z'"),
    "answer citation twice": (
        lambda d: first(d).update(answer_citation_ids=["a", "a"]),
        "answer_citation_ids: 'a' stands there twice",
    ),
    "dangling retrieval": (
        lambda d: first(d).update(offline_retrieved_citation_ids=["z"]),
        "offline_retrieved_citation_ids: 'z' is none",
    ),
    "retrieved twice": (
        lambda d: first(d).update(offline_retrieved_citation_ids=["b", "b"]),
        "offline_retrieved_citation_ids: 'b' stands there twice",
    ),
    "a citation that is none": (lambda d: first(d).update(answer_citation_ids=[None]), "answer_citation_ids.0: "),
    "grade of nothing relevant": (lambda d: graded(d, 2, 1), "judgments: 'b' is not relevant with grade 1"),
    "relevant with grade 0": (lambda d: graded(d, 0, 0), "judgments: 'a' is relevant with grade 0"),
    "grade of four": (lambda d: graded(d, 4, 0), "judgments.0.grade: "),
    "missing grade": (lambda d: graded(d, None, 0), "record 'r1': judgments: 'a' has no grade, and others have"),
    "contexts of nothing": (
        lambda d: first(d).update(offline_retrieved_citation_ids=[], offline_contexts=["text"]),
        "record 'r1': offline_contexts has 1 texts and offline_retrieved_citation_ids 0 ids",
    ),
    "nothing of something": (lambda d: first(d).update(offline_contexts=[]), "offline_contexts has 0 texts"),
    "contexts without what came": (
        lambda d: first(d).update(offline_contexts=["elsewhere"]),
        "offline_contexts: none holds 'b'",
    ),
    "contexts with what did not come": (
        lambda d: first(d).update(offline_contexts=["the text of b", "The text of A!"]),
        "offline_contexts: one is 'a', which offline_retrieved_citation_ids does not name",
    ),
    "two passages of one id": (
        lambda d: d["records"][1].update(citations=[{"citation_id": "a", "text": "other"}]),
        "record 'r2': citations: 'a' is another passage in an earlier record",
    ),
    "empty split": (lambda d: d["splits"].update(more=[]), "split 'more' is empty"),
    "dangling split": (lambda d: d["splits"]["dev"].append("r9"), "split 'dev': 'r9' is no record of this dataset"),
    "record in two splits": (lambda d: d["splits"]["dev"].append("r2"), "record 'r2': stands twice in the splits"),
    "record in no split": (lambda d: d["splits"].pop("test"), "record 'r2': is in no split"),
}


def test_the_good_one_is_read(tmp_path: Path) -> None:
    assert read_dataset(written(tmp_path, good())).dataset_id == "mine"


@pytest.mark.parametrize("name", BROKEN)
def test_each_problem_is_named_with_file_and_record(tmp_path: Path, name: str) -> None:
    change, sentence = BROKEN[name]
    document = copy.deepcopy(good())
    change(document)
    path = written(tmp_path, document)
    with pytest.raises(DatasetInvalid) as refused:
        read_dataset(path)
    assert str(path) in str(refused.value)
    assert any(sentence in problem for problem in refused.value.problems), refused.value.problems


def test_every_problem_is_found_at_once(tmp_path: Path) -> None:
    document = good()
    first(document).update(question=" ", answer_citation_ids=["z"])
    document["splits"]["more"] = []
    with pytest.raises(DatasetInvalid) as refused:
        read_dataset(written(tmp_path, document))
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"a": 1, "a": 2}', "'a' stands twice in one object"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": Infinity}', "Infinity is no JSON number"),
        (b"{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"[]", "input should be"),
        (b"\xff", "is not UTF-8 text"),
        (b'{"dataset_id": "\\ud83d"}', "invalid JSON"),
        (b'{"records": [1, 2]}', "record number 1"),
        (b'{"records": {"0": 1}}', "records: "),
    ],
)
def test_a_file_that_is_no_dataset_is_refused_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(DatasetInvalid) as refused:
        read_dataset(path)
    assert any(sentence in problem for problem in refused.value.problems), refused.value.problems


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid, match=r"none\.json.*no such file"):
        read_dataset(tmp_path / "none.json")

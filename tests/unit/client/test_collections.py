"""Readers of test collections: what they take, and that they name file, line and field of what they do not take."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranktrail_client.collections import Collection, CollectionInvalid, read_beir, read_cranfield
from tests.collections import published

HEAD = "query-id\tcorpus-id\tscore\n"
Change = Callable[[Path], object]


def _write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_jsonl", ".jsonl").replace("_tsv", ".tsv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _lines(*records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    _write(
        tmp_path,
        corpus_jsonl=_lines({"_id": "a", "title": "A", "text": "first\u2028part"}, {"_id": "b b", "text": ""}),
        queries_jsonl=_lines({"_id": "1", "text": "one"}, {"_id": "2", "text": "two"}, {"_id": "3", "text": "three"}),
        qrels__test_tsv=f"{HEAD}1\ta\t3\n1\tb b\t0\n\n",
    )
    return tmp_path


@pytest.fixture
def cranfield(tmp_path: Path) -> Path:
    (tmp_path / "cran.all.1400").write_text(
        ".I 1\n.T\na wing\nin air .\n.A\nx\n.B\ny\n.W\na wing .\n  indented .\n.I 7\n.T\n.A\n.B\n.W\n"
    )
    (tmp_path / "cran.qry").write_bytes(b".I 001\r\n.W\r\nwhat is\r\na wing .\r\n.I 004\r\n.W\r\nwhy .\r\n")
    (tmp_path / "cranqrel").write_text("1 1 1\n1 7 -1\n2 7 4 \n2 1 3")
    return tmp_path


def _judgments(collection: Collection) -> dict[str, dict[str, int]]:
    return {query.query_id: query.judgments for query in collection.queries}


def test_cranfield_queries_are_judged_by_their_place_and_lower_codes_are_more_relevant(cranfield: Path) -> None:
    collection = read_cranfield(cranfield)
    assert [(one.document_id, one.title, one.text) for one in collection.documents] == [
        ("1", "a wing in air .", "a wing .\n  indented ."),
        ("7", "", ""),
    ]
    assert [(one.query_id, one.text) for one in collection.queries] == [("1", "what is a wing ."), ("2", "why .")]
    assert _judgments(collection) == {"1": {"1": 3}, "2": {"7": 1, "1": 1}}


def test_a_beir_folder_is_read_as_it_stands(beir: Path) -> None:
    collection = read_beir(beir)
    assert [(one.document_id, one.title, one.text) for one in collection.documents] == [
        ("a", "A", "first\u2028part"),
        ("b b", "", ""),
    ]
    assert _judgments(collection) == {"1": {"a": 3, "b b": 0}, "2": {}, "3": {}}


def test_a_query_that_another_split_judges_is_left_out(beir: Path) -> None:
    _write(beir, qrels__train_tsv=f"{HEAD}1\ta\t1\n2\ta\t1\n")
    assert _judgments(read_beir(beir)) == {"1": {"a": 3, "b b": 0}, "3": {}}
    assert _judgments(read_beir(beir, "train")) == {"1": {"a": 1}, "2": {"a": 1}, "3": {}}


def test_the_only_split_is_the_default_and_of_many_it_is_test(beir: Path) -> None:
    (beir / "qrels" / "test.tsv").rename(beir / "qrels" / "dev.tsv")
    assert _judgments(read_beir(beir))["1"] == {"a": 3, "b b": 0}
    _write(beir, qrels__train_tsv=HEAD)
    with pytest.raises(CollectionInvalid, match=r"test\.tsv: is not there: name a split, of dev, train"):
        read_beir(beir)


def test_what_an_export_noted_comes_back_and_what_others_noted_does_no_harm(beir: Path) -> None:
    noted = {"path": "x/a.md", "kind": "note", "media_type": "text/markdown", "digest": "d"}
    _write(
        beir,
        corpus_jsonl=_lines(
            {"_id": "a", "text": "", "metadata": noted},
            {"_id": "b b", "text": "", "metadata": {"path": ["x"], "kind": "k" * 65, "media_type": "none"}},
        ),
        queries_jsonl=_lines(
            {"_id": "1", "text": "one", "metadata": {"category": "c", "notes": "n"}},
            {"_id": "2", "text": "two", "metadata": {"category": 7}},
            {"_id": "3", "text": "three", "metadata": None},
        ),
    )
    collection = read_beir(beir)
    assert [(one.path, one.kind, one.media_type) for one in collection.documents] == [
        ("x/a.md", "note", "text/markdown"),
        ("b b", "", "text/plain"),
    ]
    assert [(one.category, one.notes) for one in collection.queries] == [
        ("c", "n"),
        ("", "query 2"),
        ("", "query 3"),
    ]


def test_every_document_has_a_path_of_its_own_that_a_memory_takes(beir: Path) -> None:
    names = ["a", "b b", "/x", "x//y", "..", "c\\d", "e/f", "g"]
    noted = {"g": {"path": "a"}, "b b": {"path": "e/f"}}
    _write(beir, corpus_jsonl=_lines(*({"_id": one, "text": "", "metadata": noted.get(one)} for one in names)))
    paths = {one.document_id: one.path for one in read_beir(beir).documents}
    assert len(set(paths.values())) == len(names)
    assert {key: path for key, path in paths.items() if not path.startswith("documents/")} == {
        "a": "a",
        "b b": "e/f",
        "g": "g",
    }


def _replace(name: str, content: str | bytes) -> Change:
    return lambda folder: _write(folder, **{name: content})


def _cran(name: str, content: str) -> Change:
    return lambda folder: (folder / name).write_text(content)


WRONG_BEIR: list[tuple[Change, str, int | None, str | None]] = [
    (lambda folder: (folder / "corpus.jsonl").unlink(), "corpus.jsonl", None, None),
    (lambda folder: (folder / "queries.jsonl").unlink(), "queries.jsonl", None, None),
    (lambda folder: (folder / "qrels" / "test.tsv").unlink(), "qrels/test.tsv", None, None),
    (_replace("corpus_jsonl", _lines({"_id": "a", "text": ""}) + '{"_id": '), "corpus.jsonl", 2, None),
    (_replace("corpus_jsonl", "[" * 5_000), "corpus.jsonl", 1, None),
    (_replace("corpus_jsonl", '{"_id": "a", "text": "\\ud800"}'), "corpus.jsonl", 1, None),
    (_replace("corpus_jsonl", '"text"'), "corpus.jsonl", 1, None),
    (_replace("corpus_jsonl", b'{"_id": "a",\n"text": "caf\xe9"}'), "corpus.jsonl", 1, None),
    (_replace("corpus_jsonl", b'{"_id": "a", "text": ""}\n\xe9'), "corpus.jsonl", 2, None),
    (_replace("corpus_jsonl", _lines({"text": ""})), "corpus.jsonl", 1, "_id"),
    (_replace("corpus_jsonl", _lines({"_id": 7, "text": ""})), "corpus.jsonl", 1, "_id"),
    (_replace("corpus_jsonl", _lines({"_id": "", "text": ""})), "corpus.jsonl", 1, "_id"),
    (_replace("corpus_jsonl", _lines({"_id": "é" * 257, "text": ""})), "corpus.jsonl", 1, "_id"),
    (_replace("corpus_jsonl", _lines({"_id": "a"})), "corpus.jsonl", 1, "text"),
    (_replace("corpus_jsonl", _lines({"_id": "a", "text": "", "title": None})), "corpus.jsonl", 1, "title"),
    (_replace("corpus_jsonl", _lines({"_id": "a", "text": "", "title": "t" * 1_025})), "corpus.jsonl", 1, "title"),
    (_replace("corpus_jsonl", _lines({"_id": "a", "text": ""}, {"_id": "a", "text": ""})), "corpus.jsonl", 2, "_id"),
    (
        _replace("queries_jsonl", _lines({"_id": "1", "text": "q"}, {"_id": "1", "text": "q"})),
        "queries.jsonl",
        2,
        "_id",
    ),
    (_replace("queries_jsonl", _lines({"_id": "1", "text": " \ufeff\u200b\t"})), "queries.jsonl", 1, "text"),
    (_replace("queries_jsonl", _lines({"_id": "1", "text": "q" * 8_193})), "queries.jsonl", 1, "text"),
    (_replace("qrels__test_tsv", ""), "qrels/test.tsv", 1, None),
    (_replace("qrels__test_tsv", "1\ta\t1\n"), "qrels/test.tsv", 1, None),
    (_replace("qrels__test_tsv", f"{HEAD}1\t0\ta\t1\n"), "qrels/test.tsv", 2, None),
    (_replace("qrels__test_tsv", f"{HEAD}1\ta\t1\n1 a 1\n"), "qrels/test.tsv", 3, None),
    (_replace("qrels__test_tsv", f'{HEAD}1\t"a\t1\n'), "qrels/test.tsv", 2, None),
    (_replace("qrels__test_tsv", f"{HEAD}9\ta\t1\n"), "qrels/test.tsv", 2, "query-id"),
    (_replace("qrels__test_tsv", f"{HEAD}1\tgone\t1\n"), "qrels/test.tsv", 2, "corpus-id"),
    (_replace("qrels__test_tsv", f"{HEAD}1\ta\t1\n1\ta\t1\n"), "qrels/test.tsv", 3, "corpus-id"),
    (_replace("qrels__test_tsv", f"{HEAD}1\ta\t4\n"), "qrels/test.tsv", 2, "score"),
    (_replace("qrels__test_tsv", f"{HEAD}1\ta\t-1\n"), "qrels/test.tsv", 2, "score"),
    (_replace("qrels__test_tsv", f"{HEAD}1\ta\t٣\n"), "qrels/test.tsv", 2, "score"),
    (_replace("qrels__train_tsv", f"{HEAD}1\ta\n"), "qrels/train.tsv", 2, None),
]

WRONG_CRANFIELD: list[tuple[Change, str, int | None, str | None]] = [
    (lambda folder: (folder / "cranqrel").unlink(), "cranqrel", None, None),
    (_cran("cran.all.1400", ""), "cran.all.1400", None, None),
    (_cran("cran.all.1400", ".W\ntext\n"), "cran.all.1400", 1, ".I"),
    (_cran("cran.all.1400", ".I 1\ntext\n"), "cran.all.1400", 2, ".I"),
    (_cran("cran.all.1400", ".I 1\n.X\ntext\n"), "cran.all.1400", 2, ".X"),
    (_cran("cran.all.1400", ".I 1\n.W\n.I 1\n.W\n"), "cran.all.1400", 3, ".I"),
    (_cran("cran.qry", ".I 001\n.W\n\n"), "cran.qry", 1, ".W"),
    (_cran("cranqrel", "1 1 2\n1 7\n"), "cranqrel", 2, None),
    (_cran("cranqrel", "1 0 7 2\n"), "cranqrel", 1, None),
    (_cran("cranqrel", "1 7 5\n"), "cranqrel", 1, "code"),
    (_cran("cranqrel", "004 7 1\n"), "cranqrel", 1, "query"),
    (_cran("cranqrel", "1 8 1\n"), "cranqrel", 1, "document"),
    (_cran("cranqrel", "1 7 1\n1 7 2\n"), "cranqrel", 2, "document"),
]


@pytest.mark.parametrize(("change", "file", "line", "field"), WRONG_BEIR)
def test_a_wrong_beir_folder_is_refused_by_file_line_and_field(
    beir: Path, change: Change, file: str, line: int | None, field: str | None
) -> None:
    _check_refused(lambda: read_beir(beir), beir, change, file, line, field)


@pytest.mark.parametrize(("change", "file", "line", "field"), WRONG_CRANFIELD)
def test_wrong_cranfield_files_are_refused_by_file_line_and_field(
    cranfield: Path, change: Change, file: str, line: int | None, field: str | None
) -> None:
    _check_refused(lambda: read_cranfield(cranfield), cranfield, change, file, line, field)


def _check_refused(
    read: Callable[[], object], folder: Path, change: Change, file: str, line: int | None, field: str | None
) -> None:
    change(folder)
    with pytest.raises(CollectionInvalid) as caught:
        read()
    known = {"file": str(folder / file), "line": None if line is None else str(line), "field": field}
    assert caught.value.metadata == {name: value for name, value in known.items() if value is not None}
    assert all(value in str(caught.value) for value in caught.value.metadata.values())


@pytest.mark.data
def test_the_published_collections_have_what_their_sources_count() -> None:
    for name, read, counts in (
        ("cranfield", read_cranfield, (1400, 225, 1612)),
        ("mtrag-beir", read_beir, (1486, 510, 1304)),
    ):
        collection = read(published(name))
        judgment_count = sum(len(query.judgments) for query in collection.queries)
        assert (len(collection.documents), len(collection.queries), judgment_count) == counts
        assert all(query.judgments for query in collection.queries)

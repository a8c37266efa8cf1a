"""What a dataset is, which version it has, where it is found and which of its records are measured."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranktrail_evals.dataset.checksum import checksum
from ranktrail_evals.dataset.discovery import find_dataset, list_datasets
from ranktrail_evals.dataset.selection import selected_records
from ranktrail_evals.errors import DatasetInvalid, DatasetNotFound
from tests.unit.evals.made import a_dataset, dataset_json, record_json, with_citations, written

SIX = a_dataset(
    *(record_json(f"r{place}") for place in range(6)), splits={"x": ["r0", "r3"], "y": ["r1", "r2", "r4", "r5"]}
)


def test_the_checksum_is_of_the_content_alone() -> None:
    one = a_dataset(record_json("r1"), record_json("r2"))
    same = a_dataset(record_json("r2"), record_json("r1"), version="9.9", title="t", description="d", license="CC0-1.0")
    assert checksum(one) == checksum(same)


def test_an_optional_field_that_says_its_default_changes_nothing() -> None:
    plain = a_dataset(record_json())
    spelt = a_dataset(
        record_json(
            reference_answers=[], citations=[], judgments=[], answer_citation_ids=None, offline_answer=None,
            offline_contexts=None, offline_retrieved_citation_ids=None,
        )
    )  # fmt: skip
    assert checksum(plain) == checksum(spelt)


def test_the_checksum_of_today_is_that_of_every_release() -> None:
    assert checksum(a_dataset(record_json())) == "36bb62344d41086390a8457cb4dbfc7d7db41c1beebe654dd0a70e00d20057fc"


@pytest.mark.parametrize(
    "other",
    [
        record_json(question="What?"),
        record_json(offline_answer=""),
        record_json(offline_retrieved_citation_ids=[]),
        with_citations("a"),
    ],
)
def test_other_content_has_another_checksum(other: dict[str, object]) -> None:
    assert checksum(a_dataset(record_json())) != checksum(a_dataset(other))


def test_an_empty_retrieval_is_not_the_same_as_none_declared() -> None:
    declared = a_dataset(with_citations("a", offline_retrieved_citation_ids=[]))
    assert checksum(declared) != checksum(a_dataset(with_citations("a")))


def test_versions_compare_as_versions(tmp_path: Path) -> None:
    for version in ("1.9.0", "1.10.0", "1.10.0rc1"):
        written(tmp_path, dataset_json(version=version), f"{version}.json")
    assert find_dataset("mine", None, tmp_path).version == "1.10.0"
    assert find_dataset("mine", "1.9", tmp_path).version == "1.9.0"
    with pytest.raises(DatasetNotFound, match=r"mine 2\.0"):
        find_dataset("mine", "2.0", tmp_path)
    with pytest.raises(DatasetNotFound, match="is no version"):
        find_dataset("mine", "newest", tmp_path)


def test_datasets_are_found_in_the_package_in_a_folder_and_as_files(tmp_path: Path) -> None:
    path = written(tmp_path, dataset_json(), "any-name.json")
    assert find_dataset("localrag-scope", None, None).dataset_id == "localrag-scope"
    assert find_dataset("mine", None, tmp_path) == find_dataset(str(path), None, None)
    assert find_dataset(str(path), "1.0", None).version == "1.0.0"
    with pytest.raises(DatasetNotFound):
        find_dataset("mine", None, None)
    with pytest.raises(DatasetNotFound, match="--version 2 is not that of the file"):
        find_dataset(str(path), "2", None)
    with pytest.raises(DatasetNotFound, match="is no folder"):
        find_dataset("mine", None, tmp_path / "none")


def test_a_broken_file_stops_its_own_dataset_and_no_other(tmp_path: Path) -> None:
    written(tmp_path, dataset_json())
    (tmp_path / "broken.json").write_text("{")
    written(tmp_path, dataset_json(dataset_id="odd", version="x"), "odd.json")
    assert find_dataset("mine", None, tmp_path).dataset_id == "mine"
    for name in ("broken", "odd"):
        with pytest.raises(DatasetInvalid, match=f"{name}.json"):
            find_dataset(name, None, tmp_path)
    listed = {one.path.name: one.problem is None for one in list_datasets(tmp_path)}
    assert listed["mine.json"]
    assert not listed["broken.json"]
    assert not listed["odd.json"]


def test_one_name_and_version_with_two_contents_is_refused_by_both_names(tmp_path: Path) -> None:
    written(tmp_path, dataset_json(), "a.json")
    written(tmp_path, dataset_json(title="the same content"), "b.json")
    assert find_dataset("mine", None, tmp_path).dataset_id == "mine"
    written(tmp_path, dataset_json(record_json(question="Other?")), "c.json")
    with pytest.raises(DatasetInvalid, match=r"c\.json.*a\.json"):
        find_dataset("mine", None, tmp_path)


def test_a_split_and_a_sample_keep_the_order_of_the_file() -> None:
    assert [one.record_id for one in selected_records(SIX, "x", None, 0)] == ["r0", "r3"]
    assert len(selected_records(SIX, None, None, 0)) == 6
    with pytest.raises(DatasetNotFound, match=r"it has x, y"):
        selected_records(SIX, "z", None, 0)
    with pytest.raises(DatasetNotFound, match="--sample 3 is more than the 2 records"):
        selected_records(SIX, "x", 3, 0)


@settings(deadline=None)
@given(size=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_a_sample_is_the_same_for_the_same_seed_whatever_the_order_of_the_file(size: int, seed: int) -> None:
    turned = SIX.model_copy(update={"records": SIX.records[::-1]})
    drawn = [one.record_id for one in selected_records(SIX, None, size, seed)]
    assert len(drawn) == size
    assert drawn == sorted(drawn)
    assert sorted(one.record_id for one in selected_records(turned, None, size, seed)) == drawn

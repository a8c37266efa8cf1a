"""Measures that are kept between reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from history_service.domain.case import Judgment
from history_service.evaluation import measured_case
from history_service.evaluation.judged_case import JudgedCase
from history_service.evaluation.results import BenchmarkReport
from history_service.use_cases import measured_cases
from history_service.use_cases.benchmark import Benchmark
from history_service.use_cases.measured_cases import MeasuredCases
from tests.unit.history.kept import Store, a_memory

BODIES = {f"doc-{number:04d}": f"body {number}".encode() for number in range(1, 7)}
MEMORY = a_memory(BODIES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path) as opened:
        opened.put(MEMORY, BODIES)
        yield opened


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each measuring, as (case id, version of its judgments)."""
    found: list[tuple[str, int]] = []

    def measured(case: JudgedCase) -> measured_case.MeasuredCase:
        found.append((case.case_id, case.judgment_version))
        return measured_case.measured(case)

    monkeypatch.setattr(measured_cases, "measured", measured)
    return found


def _pinned(store: Store, run_id: str) -> str:
    store.record(run_id, MEMORY, candidates=4)
    case, _ = store.create_case.create(run_id, "", "")
    return case.case_id


def _judgment(number: int, relevance: int) -> Judgment:
    return Judgment(f"doc-{number:04d}", None, relevance, False, "", "human")


def _afresh(store: Store) -> BenchmarkReport:
    return Benchmark(store.database, MeasuredCases()).report(None, [])


def test_a_case_is_measured_once_a_version_of_its_judgments_however_many_reports_ask(
    store: Store, counted: list[tuple[str, int]]
) -> None:
    case_ids = [_pinned(store, f"run-{number}") for number in range(3)]
    for _ in range(2):
        store.benchmark.report(None, [])
    assert sorted(counted) == sorted((case_id, 1) for case_id in case_ids)
    counted.clear()
    store.judge(case_ids[0], 1, _judgment(1, 3))
    for _ in range(2):
        store.benchmark.report(None, case_ids[:2])
    assert counted == [(case_ids[0], 2)]


def test_a_report_of_kept_measures_is_the_one_that_measures_everything_afresh(store: Store) -> None:
    case_ids = [_pinned(store, f"run-{number}") for number in range(4)]
    for version in range(1, 4):
        store.judge(case_ids[version], 1, _judgment(version, 3), _judgment(6, 1))
        store.judge(case_ids[0], version, *(_judgment(number, number % 4) for number in range(1, 1 + version)))
        assert store.benchmark.report(None, []) == _afresh(store)
    store.delete_case.delete(case_ids[1], 2)
    again = _pinned(store, "run-again")
    assert store.benchmark.report(None, []) == _afresh(store)
    assert {case.case_id for case in store.benchmark.report(None, []).cases} == {case_ids[0], *case_ids[2:], again}


def test_measures_of_no_more_cases_are_kept_than_a_report_may_have(
    store: Store, counted: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    case_ids = [_pinned(store, f"run-{number}") for number in range(3)]
    monkeypatch.setattr(measured_cases, "MAX_REPORT_CASES", 2)
    store.benchmark.report(None, case_ids)
    counted.clear()
    store.benchmark.report(None, case_ids[1:])
    assert counted == []
    store.benchmark.report(None, case_ids)
    assert [case_id for case_id, _ in counted] == case_ids[:1]


def test_judgments_are_answered_as_stored_where_the_case_cannot_be_measured(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    case_id = _pinned(store, "run-1")

    def broken(case: JudgedCase) -> measured_case.MeasuredCase:
        raise RuntimeError(case.case_id)

    monkeypatch.setattr(measured_cases, "measured", broken)
    assert store.judge(case_id, 1, _judgment(1, 3)) == 2
    assert "could not measure case" in caplog.text

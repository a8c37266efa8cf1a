"""GetBenchmarkReport and the report of a whole Run: what recorded traces and judgments give, over the wire."""

import math
import sqlite3

import grpc
import pytest

from history_service.domain.limits import MAX_REPORT_CASES
from history_service.use_cases import benchmark
from ranktrail.evaluation.v1 import evaluation_service_pb2 as pb
from ranktrail.trace.v1 import trace_pb2 as trace
from tests import history_cases as cases
from tests.fakes.history_server import TIMEOUT, RunningHistory
from tests.history_builders import a_candidate, digest
from tests.history_cases import a_judgment
from tests.refusals import refused

VARIANTS = ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "b4_reranked"]
MEASURES = ["R@20", "nDCG@10", "RR", "Judged@10", "resource_diversity", "scope_violation", "stale_result"]


def _report(history: RunningHistory, *case_ids: str, **request: object) -> pb.BenchmarkReport:
    message = pb.GetBenchmarkReportRequest(case_ids=case_ids, **request)  # type: ignore[arg-type]
    return history.evaluation.GetBenchmarkReport(message, timeout=TIMEOUT).report


def _means(report: pb.BenchmarkReport, variant: str = "b4_reranked") -> dict[str, float | None]:
    (found,) = [one for one in report.variants if one.variant == variant]
    return {one.measure: one.mean if one.HasField("mean") else None for one in found.measures}


def _twenty(absent: int, stale: int) -> list[trace.Candidate]:
    """Twenty candidates over twenty documents, of which so many are not in the memory, and so many of old bytes."""
    rows = []
    for n in range(1, 21):
        changes = {"resource_digest": digest(f"body {n}")}
        if n <= absent:
            changes = {"resource_id": f"gone-{n}"}
        elif n <= absent + stale:
            changes = {"resource_digest": digest(f"old body {n}")}
        rows.append(a_candidate(n, **changes))
    return rows


@pytest.mark.parametrize(("absent", "stale"), [(0, 0), (3, 0), (0, 5), (4, 6), (20, 0), (0, 20)])
def test_scope_violation_and_stale_result_are_the_shares_of_the_first_twenty(
    history: RunningHistory, absent: int, stale: int
) -> None:
    bodies = {f"doc-{n:04d}": f"body {n}".encode() for n in range(1, 21)}
    case = cases.pinned(history, bodies=bodies, candidates=_twenty(absent, stale))
    for variant in VARIANTS:
        means = _means(_report(history, case.case_id), variant)
        assert means["scope_violation"] == absent / 20
        assert means["stale_result"] == stale / 20


def test_a_resource_is_found_in_the_corpus_whatever_its_id_holds(history: RunningHistory) -> None:
    bodies = {"doc\0one": b"one", 'doc "two"': b"two", "доc\u2028😀": b"three", "doc%_'": b"four"}
    rows = [
        a_candidate(n, resource_id=name, resource_digest=digest(body))
        for n, (name, body) in enumerate(bodies.items(), start=1)
    ]
    case = cases.pinned(history, bodies=bodies, candidates=rows)
    means = _means(_report(history, case.case_id))
    assert (means["scope_violation"], means["stale_result"], means["resource_diversity"]) == (0, 0, 1)


def test_a_report_has_every_variant_and_measure_and_says_what_it_is_worth(history: RunningHistory) -> None:
    case = cases.pinned(history)
    cases.replace(history, case.case_id, 1, a_judgment(1, relevance=3), a_judgment(5, unit=False, missed=True))
    other = cases.pinned(history, "run-2")
    cases.replace(history, other.case_id, 1, a_judgment(2, source=pb.EvaluationJudgment.SOURCE_MODEL))
    report = _report(history)
    assert report.quality_gate == "production quality gate: open"
    assert (report.case_count, report.human_judged_case_count) == (2, 1)
    assert [one.variant for one in report.variants] == VARIANTS
    assert [[mean.measure for mean in one.measures] for one in report.variants] == [MEASURES] * 4
    assert {(mean.scored, mean.total) for one in report.variants for mean in one.measures} == {(2, 2)}
    assert [found.case_id for found in report.cases] == sorted([case.case_id, other.case_id])
    assert [found.judgment_version for found in report.cases] == [2, 2]
    assert _means(report)["R@20"] == (1 / 2 + 1) / 2
    assert _means(report)["RR"] == (1 + 1 / 2) / 2
    first = 7 / (7 + 3 / math.log2(3))
    assert _means(report)["nDCG@10"] == pytest.approx((first + 1 / math.log2(3)) / 2, abs=1e-12)
    assert (report.stage_loss.relevant_count, report.stage_loss.returned_count) == (3, 2)
    assert report.stage_loss.lost_counts == {"not_recalled": 1}
    assert report.comparisons
    assert not _report(history, skip_comparisons=True).comparisons


def test_what_is_undefined_is_absent_and_not_zero(history: RunningHistory) -> None:
    case = cases.pinned(history)
    report = _report(history, case.case_id)
    for variant in report.variants:
        means = {one.measure: one for one in variant.measures}
        assert not means["R@20"].HasField("mean")
        assert (means["R@20"].scored, means["R@20"].total) == (0, 1)
        assert not means["R@20"].HasField("low")
    assert not report.cases[0].variants[0].measures[0].HasField("value")
    assert _report(history, project_id="nobody").case_count == 0


def test_a_warm_run_gives_its_latency_to_the_variants_whose_stages_it_ran(history: RunningHistory) -> None:
    case = cases.pinned(history)
    report = _report(history, case.case_id)
    assert [(one.HasField("p50_us"), one.p50_us) for one in report.variants] == [(True, 900)] + [(False, 0)] * 3


def test_a_report_is_over_the_cases_that_were_chosen(history: RunningHistory) -> None:
    found = {run_id: cases.pinned(history, run_id, project_id=run_id[0]).case_id for run_id in ("p-1", "p-2", "q-1")}

    def measured(*run_ids: str, project_id: str = "") -> list[str]:
        report = _report(history, *(found[run_id] for run_id in run_ids), project_id=project_id)
        return [case.case_id for case in report.cases]

    assert measured() == sorted(found.values())
    assert measured(project_id="p") == sorted([found["p-1"], found["p-2"]])
    assert measured("q-1", "p-1", "q-1") == sorted([found["q-1"], found["p-1"]])
    assert measured("p-1", project_id="p") == [found["p-1"]]


def test_a_case_that_is_unknown_or_another_projects_is_not_found(history: RunningHistory) -> None:
    case = cases.pinned(history)
    for case_ids, project_id, named in (([case.case_id, "no"], "", "no"), ([case.case_id], "q", case.case_id)):
        refusal = refused(lambda ids=case_ids, project=project_id: _report(history, *ids, project_id=project))
        assert (refusal.code, refusal.reason) == (grpc.StatusCode.NOT_FOUND, "CASE_NOT_FOUND")
        assert refusal.metadata == {"case_id": named}
    refusal = refused(lambda: _report(history, project_id="p" * 513))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "FIELD_INVALID")


def test_a_whole_run_has_the_report_of_its_case(history: RunningHistory) -> None:
    cases.record(history)
    assert not history.get().HasField("report")
    case = cases.create(history)
    cases.replace(history, case.case_id, 1, a_judgment())
    whole, alone = history.get().report, _report(history, case.case_id, skip_comparisons=True)
    assert whole == alone
    assert whole.SerializeToString(deterministic=True) == alone.SerializeToString(deterministic=True)


def test_the_largest_report_fits_into_a_message_and_one_more_case_is_refused(
    history: RunningHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = [reason for reason in trace.ExclusionReason.values() if reason]
    rows = [
        a_candidate(n, selected=False, exclusion_reason=reasons[n % len(reasons)], delta_action=None)
        for n in range(1, 31)
    ]
    cases.record(history, candidates=rows, bodies={f"doc-{n:04d}": b"" for n in range(1, 41)})
    case = cases.create(history)
    cases.replace(history, case.case_id, 1, *(a_judgment(n, unit=n <= 30, relevance=n % 3 + 1) for n in range(1, 40)))
    _multiply(history, 100)
    report = _report(history, skip_comparisons=True)
    assert report.case_count == 100
    assert len(report.stage_loss.lost_counts) == len(reasons) + 1
    assert report.ByteSize() / 100 * MAX_REPORT_CASES < 4_000_000
    monkeypatch.setattr(benchmark, "MAX_REPORT_CASES", 99)
    refusal = refused(lambda: _report(history))
    assert (refusal.reason, refusal.metadata) == ("FIELD_INVALID", {"field": "case_ids", "limit": "99"})


def _multiply(history: RunningHistory, count: int) -> None:
    """Fill the store up to `count` cases that are copies of the first."""
    connection = sqlite3.connect(history.data_dir / "history" / "local.db")
    columns = {
        table: ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
        for table in ("retrieval_runs", "retrieval_run_candidates", "evaluation_cases", "evaluation_judgments")
    }
    with connection:
        for n in range(2, count + 1):
            changed = {
                "run_sequence": str(n),
                "case_sequence": str(n),
                "sequence": str(n),
                "change_sequence": str(n + 10),
                "run_id": f"'run-{n}'",
                "case_id": f"'{n:026d}'",
            }
            for table, names in columns.items():
                key = {"retrieval_runs": "sequence", "evaluation_cases": "sequence"}.get(table, names.split(",")[0])
                values = ", ".join(changed.get(name, name) for name in names.split(", "))
                connection.execute(f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} WHERE {key} = 1")  # noqa: S608
    connection.close()
